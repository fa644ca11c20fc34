// The methods of attune::Communicator that start calls: one per collective, blocking (all_reduce) and not (start_all_reduce), with the arguments of the
// function of the same name in <attune/calls.hpp>. Included by <attune/attune.hpp>.
#pragma once

#include <attune/calls.hpp>

#include <utility>

namespace attune {

// Team has run(const BoundCall&) and start(const BoundCall&).
template <class Team>
class CallMethods {
public:
    template <class... Arguments>
    void all_reduce(Arguments&&... arguments) {
        team().run(calls::all_reduce(std::forward<Arguments>(arguments)...));
    }
    template <class... Arguments>
    void all_gather(Arguments&&... arguments) {
        team().run(calls::all_gather(std::forward<Arguments>(arguments)...));
    }
    template <class... Arguments>
    void reduce_scatter(Arguments&&... arguments) {
        team().run(calls::reduce_scatter(std::forward<Arguments>(arguments)...));
    }
    template <class... Arguments>
    void broadcast(Arguments&&... arguments) {
        team().run(calls::broadcast(std::forward<Arguments>(arguments)...));
    }
    template <class... Arguments>
    void reduce(Arguments&&... arguments) {
        team().run(calls::reduce(std::forward<Arguments>(arguments)...));
    }
    template <class... Arguments>
    void gather(Arguments&&... arguments) {
        team().run(calls::gather(std::forward<Arguments>(arguments)...));
    }
    template <class... Arguments>
    void scatter(Arguments&&... arguments) {
        team().run(calls::scatter(std::forward<Arguments>(arguments)...));
    }
    template <class... Arguments>
    void all_to_all(Arguments&&... arguments) {
        team().run(calls::all_to_all(std::forward<Arguments>(arguments)...));
    }
    template <class... Arguments>
    void scan(Arguments&&... arguments) {
        team().run(calls::scan(std::forward<Arguments>(arguments)...));
    }
    template <class... Arguments>
    void exscan(Arguments&&... arguments) {
        team().run(calls::exscan(std::forward<Arguments>(arguments)...));
    }
    template <class... Arguments>
    void all_gather_v(Arguments&&... arguments) {
        team().run(calls::all_gather_v(std::forward<Arguments>(arguments)...));
    }
    template <class... Arguments>
    void reduce_scatter_v(Arguments&&... arguments) {
        team().run(calls::reduce_scatter_v(std::forward<Arguments>(arguments)...));
    }
    template <class... Arguments>
    void gather_v(Arguments&&... arguments) {
        team().run(calls::gather_v(std::forward<Arguments>(arguments)...));
    }
    template <class... Arguments>
    void scatter_v(Arguments&&... arguments) {
        team().run(calls::scatter_v(std::forward<Arguments>(arguments)...));
    }
    template <class... Arguments>
    void all_to_all_v(Arguments&&... arguments) {
        team().run(calls::all_to_all_v(std::forward<Arguments>(arguments)...));
    }
    template <class... Arguments>
    void send_recv(Arguments&&... arguments) {
        team().run(calls::send_recv(std::forward<Arguments>(arguments)...));
    }
    template <class... Arguments>
    void batch_send_recv(Arguments&&... arguments) {
        team().run(calls::batch_send_recv(std::forward<Arguments>(arguments)...));
    }
    void barrier() { team().run(calls::barrier()); }

    // Started only. The buffers must live and stay untouched until the request is done; counts and transfers may go at once.
    template <class... Arguments>
    [[nodiscard]] auto start_all_reduce(Arguments&&... arguments) {
        return team().start(calls::all_reduce(std::forward<Arguments>(arguments)...));
    }
    template <class... Arguments>
    [[nodiscard]] auto start_all_gather(Arguments&&... arguments) {
        return team().start(calls::all_gather(std::forward<Arguments>(arguments)...));
    }
    template <class... Arguments>
    [[nodiscard]] auto start_reduce_scatter(Arguments&&... arguments) {
        return team().start(calls::reduce_scatter(std::forward<Arguments>(arguments)...));
    }
    template <class... Arguments>
    [[nodiscard]] auto start_broadcast(Arguments&&... arguments) {
        return team().start(calls::broadcast(std::forward<Arguments>(arguments)...));
    }
    template <class... Arguments>
    [[nodiscard]] auto start_reduce(Arguments&&... arguments) {
        return team().start(calls::reduce(std::forward<Arguments>(arguments)...));
    }
    template <class... Arguments>
    [[nodiscard]] auto start_gather(Arguments&&... arguments) {
        return team().start(calls::gather(std::forward<Arguments>(arguments)...));
    }
    template <class... Arguments>
    [[nodiscard]] auto start_scatter(Arguments&&... arguments) {
        return team().start(calls::scatter(std::forward<Arguments>(arguments)...));
    }
    template <class... Arguments>
    [[nodiscard]] auto start_all_to_all(Arguments&&... arguments) {
        return team().start(calls::all_to_all(std::forward<Arguments>(arguments)...));
    }
    template <class... Arguments>
    [[nodiscard]] auto start_scan(Arguments&&... arguments) {
        return team().start(calls::scan(std::forward<Arguments>(arguments)...));
    }
    template <class... Arguments>
    [[nodiscard]] auto start_exscan(Arguments&&... arguments) {
        return team().start(calls::exscan(std::forward<Arguments>(arguments)...));
    }
    template <class... Arguments>
    [[nodiscard]] auto start_all_gather_v(Arguments&&... arguments) {
        return team().start(calls::all_gather_v(std::forward<Arguments>(arguments)...));
    }
    template <class... Arguments>
    [[nodiscard]] auto start_reduce_scatter_v(Arguments&&... arguments) {
        return team().start(calls::reduce_scatter_v(std::forward<Arguments>(arguments)...));
    }
    template <class... Arguments>
    [[nodiscard]] auto start_gather_v(Arguments&&... arguments) {
        return team().start(calls::gather_v(std::forward<Arguments>(arguments)...));
    }
    template <class... Arguments>
    [[nodiscard]] auto start_scatter_v(Arguments&&... arguments) {
        return team().start(calls::scatter_v(std::forward<Arguments>(arguments)...));
    }
    template <class... Arguments>
    [[nodiscard]] auto start_all_to_all_v(Arguments&&... arguments) {
        return team().start(calls::all_to_all_v(std::forward<Arguments>(arguments)...));
    }
    template <class... Arguments>
    [[nodiscard]] auto start_send_recv(Arguments&&... arguments) {
        return team().start(calls::send_recv(std::forward<Arguments>(arguments)...));
    }
    template <class... Arguments>
    [[nodiscard]] auto start_batch_send_recv(Arguments&&... arguments) {
        return team().start(calls::batch_send_recv(std::forward<Arguments>(arguments)...));
    }
    [[nodiscard]] auto start_barrier() { return team().start(calls::barrier()); }

private:
    Team& team() noexcept { return static_cast<Team&>(*this); }
};

}  // namespace attune
