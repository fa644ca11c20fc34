#include "collectives/transport/tcp_connection.hpp"

#include "libcore/error.hpp"

#include <algorithm>
#include <cstring>

#include <linux/sockios.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

namespace attune::collectives {

namespace asio = boost::asio;

namespace {

// Asio needs to know the family of a socket that it did not make.
asio::ip::tcp protocol_of(int descriptor) {
    sockaddr_storage address{};
    socklen_t length = sizeof address;
    ::getsockname(descriptor, reinterpret_cast<sockaddr*>(&address), &length);
    return address.ss_family == AF_INET6 ? asio::ip::tcp::v6() : asio::ip::tcp::v4();
}

bool retry_later(const boost::system::error_code& error) {
    return error == asio::error::would_block || error == asio::error::try_again || error == asio::error::interrupted;
}

}  // namespace

TcpConnection::TcpConnection(asio::io_context& context, core::UniqueFd socket, const TcpLayout& layout, PeerState& peer)
    : socket_(context), layout_(layout), peer_(peer), memory_(in_flight_slots * layout.window * layout.fragment_bytes), descriptor_(socket.get()) {
    if (memory_.data() == nullptr) throw core::Error(core::ErrorCode::failure, "no memory for the window of a connection; allow less staging memory");
    socket_.assign(protocol_of(descriptor_), socket.release());
    socket_.non_blocking(true);
    for (std::size_t slot = 0; slot < in_flight_slots; ++slot) {
        receives_[slot].fragments = memory_.data() + slot * layout.window * layout.fragment_bytes;
        receives_[slot].digests.resize(layout.window);
    }
    // A message and its header at most wait here, and a few control frames: no growth while calls run.
    pending_.reserve(layout.fragment_bytes + (std::size_t{64} << 10));
}

void TcpConnection::close() noexcept {
    closed_ = true;
    pending_.clear();
    pending_begin_ = 0;
}

bool TcpConnection::ready(std::size_t slot) noexcept {
    if (closed_ || !flush()) return false;
    const SendLane& lane = sends_[slot];
    if (lane.sent - lane.consumed < layout_.window) return true;
    receive();
    return !closed_ && lane.sent - lane.consumed < layout_.window;
}

void TcpConnection::send(std::size_t slot, const Message& message) noexcept {
    FrameHeader header;
    header.slot = static_cast<std::uint8_t>(slot);
    header.length = static_cast<std::uint32_t>(message.payload.size());
    header.digest = message.digest;
    ++sends_[slot].sent;
    write(header, message.payload);
}

void TcpConnection::send_control(FrameHeader header, std::span<const std::byte> payload) noexcept {
    header.length = static_cast<std::uint32_t>(payload.size());
    write(header, payload);
}

// Every frame gives back the window of its lane, so that separate credits are rare when both directions are in use.
void TcpConnection::write(FrameHeader header, std::span<const std::byte> payload) noexcept {
    if (closed_) return;
    ReceiveLane& lane = receives_[header.slot];
    header.consumed = lane.confirmed = lane.consumed;
    const auto head = std::as_bytes(std::span(&header, 1));
    std::size_t written = 0;
    if (!waiting()) {
        const std::array<asio::const_buffer, 2> parts = {asio::const_buffer(head.data(), head.size()), asio::const_buffer(payload.data(), payload.size())};
        boost::system::error_code error;
        written = socket_.write_some(parts, error);
        if (error && !retry_later(error)) return close();
    }
    if (written < head.size()) keep(head.subspan(written));
    const std::size_t payload_written = written < head.size() ? 0 : written - head.size();
    if (payload_written < payload.size()) keep(payload.subspan(payload_written));
}

void TcpConnection::keep(std::span<const std::byte> bytes) noexcept {
    pending_.insert(pending_.end(), bytes.begin(), bytes.end());
}

bool TcpConnection::flush() noexcept {
    while (waiting()) {
        boost::system::error_code error;
        pending_begin_ += socket_.write_some(asio::const_buffer(pending_.data() + pending_begin_, pending_.size() - pending_begin_), error);
        if (!error) continue;
        if (retry_later(error)) return false;
        close();
    }
    pending_.clear();
    pending_begin_ = 0;
    return true;
}

bool TcpConnection::peek(std::size_t slot, Incoming& incoming) noexcept {
    const ReceiveLane& lane = receives_[slot];
    if (lane.arrived == lane.consumed) receive();
    if (lane.arrived == lane.consumed) return false;
    const std::uint64_t fragment = lane.consumed % layout_.window;
    incoming.payload = lane.fragments + fragment * layout_.fragment_bytes;
    incoming.digest = lane.digests[fragment];
    return true;
}

void TcpConnection::release(std::size_t slot) noexcept {
    ReceiveLane& lane = receives_[slot];
    ++lane.consumed;
    if (lane.consumed - lane.confirmed < (layout_.window + 1) / 2) return;
    FrameHeader credit;
    credit.kind = FrameKind::credit;
    credit.slot = static_cast<std::uint8_t>(slot);
    write(credit, {});
}

// The rest of the present payload lands where it belongs; what follows is caught in the same call.
void TcpConnection::receive() noexcept {
    if (closed_) return;
    if (head_begin_ == head_end_) head_begin_ = head_end_ = 0;
    if (head_begin_ != 0) {
        std::memmove(head_.data(), head_.data() + head_begin_, head_end_ - head_begin_);
        head_end_ -= head_begin_;
        head_begin_ = 0;
    }
    const std::size_t room = head_.size() - head_end_;
    const std::array<asio::mutable_buffer, 2> parts = {asio::mutable_buffer(target_, missing_), asio::mutable_buffer(head_.data() + head_end_, room)};
    boost::system::error_code error;
    const std::size_t got = socket_.read_some(parts, error);
    drained_ = got == 0;
    if (error && !retry_later(error)) return close();
    const std::size_t placed = std::min(got, missing_);
    target_ += placed;
    missing_ -= placed;
    head_end_ += got - placed;
    if (in_frame_ && missing_ == 0) end_frame();
    parse_head();
}

void TcpConnection::receive_all() noexcept {
    do {
        receive();
    } while (!closed_ && !drained_);
}

void TcpConnection::parse_head() noexcept {
    while (!in_frame_ && head_end_ - head_begin_ >= sizeof frame_) {
        std::memcpy(&frame_, head_.data() + head_begin_, sizeof frame_);
        head_begin_ += sizeof frame_;
        if (!begin_frame()) return close();
        const std::size_t here = std::min(missing_, head_end_ - head_begin_);
        if (here != 0) std::memcpy(target_, head_.data() + head_begin_, here);
        head_begin_ += here;
        target_ += here;
        missing_ -= here;
        if (missing_ == 0) end_frame();
    }
}

// The peer is authenticated, but a frame that breaks the rules must not write outside its window.
bool TcpConnection::begin_frame() noexcept {
    if (frame_.slot >= in_flight_slots || frame_.kind > FrameKind::abort) return false;
    SendLane& sent = sends_[frame_.slot];
    if (frame_.consumed > sent.sent) return false;
    sent.consumed = std::max(sent.consumed, frame_.consumed);
    in_frame_ = true;
    missing_ = frame_.length;
    if (frame_.kind != FrameKind::data) {
        target_ = control_.data();
        return frame_.length <= control_payload_limit;
    }
    const ReceiveLane& lane = receives_[frame_.slot];
    target_ = lane.fragments + lane.arrived % layout_.window * layout_.fragment_bytes;
    return frame_.length <= layout_.fragment_bytes && lane.arrived - lane.consumed < layout_.window;
}

void TcpConnection::end_frame() noexcept {
    in_frame_ = false;
    target_ = nullptr;
    switch (frame_.kind) {
        case FrameKind::data: {
            ReceiveLane& lane = receives_[frame_.slot];
            lane.digests[lane.arrived % layout_.window] = frame_.digest;
            ++lane.arrived;
            return;
        }
        case FrameKind::record:
            if (frame_.length == sizeof(CallRecord)) std::memcpy(&peer_.records[frame_.slot], control_.data(), sizeof(CallRecord));
            return;
        case FrameKind::completed:
            peer_.completed = std::max(peer_.completed, frame_.digest);
            return;
        case FrameKind::abort:
            if (peer_.abort_reason.empty()) peer_.abort_reason.assign(reinterpret_cast<const char*>(control_.data()), frame_.length);
            return;
        case FrameKind::credit:
            return;
    }
}

bool TcpConnection::unconfirmed() const noexcept {
    int bytes = 0;
    return !closed_ && ::ioctl(descriptor_, SIOCOUTQ, &bytes) == 0 && bytes > 0;
}

}  // namespace attune::collectives
