#include "collectives/transport/tcp_connection.hpp"

#include <algorithm>
#include <cstring>

#include <linux/sockios.h>
#include <netinet/tcp.h>
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

TcpConnection::TcpConnection(asio::io_context& context, core::UniqueFd socket, TcpLanes& lanes, PeerState& peer)
    : socket_(context), lanes_(lanes), peer_(peer), descriptor_(socket.get()) {
    socket_.assign(protocol_of(descriptor_), socket.release());
    socket_.non_blocking(true);
    // A message and its header at most wait here, and a few control frames: no growth while calls run.
    pending_.reserve(lanes.fragment_bytes() + (std::size_t{64} << 10));
}

void TcpConnection::close() noexcept {
    closed_ = true;
    stop_writing();
}

void TcpConnection::stop_writing() noexcept {
    takes_ = false;
    pending_.clear();
    pending_begin_ = 0;
}

void TcpConnection::send(std::size_t lane, const Message& message) noexcept {
    FrameHeader header;
    header.slot = static_cast<std::uint8_t>(lane % in_flight_slots);
    header.channel = static_cast<std::uint8_t>(lane / in_flight_slots);
    header.length = static_cast<std::uint32_t>(message.payload.size());
    header.digest = message.digest;
    lanes_.note_sent(lane);
    write(header, message.payload);
}

void TcpConnection::send_credit(std::size_t lane) noexcept {
    FrameHeader header;
    header.kind = FrameKind::credit;
    header.slot = static_cast<std::uint8_t>(lane % in_flight_slots);
    header.channel = static_cast<std::uint8_t>(lane / in_flight_slots);
    write(header, {});
}

void TcpConnection::send_control(FrameHeader header, std::span<const std::byte> payload) noexcept {
    header.length = static_cast<std::uint32_t>(payload.size());
    write(header, payload);
}

// Every frame gives back the window of its lane, so that separate credits are rare when both directions are in use.
void TcpConnection::write(FrameHeader header, std::span<const std::byte> payload) noexcept {
    if (!takes_) return;
    header.consumed = lanes_.confirm(lane_of(header));
    const auto head = std::as_bytes(std::span(&header, 1));
    std::size_t written = 0;
    if (!waiting()) {
        boost::system::error_code error;
        written = write_now(head, payload, error);
        if (error && !retry_later(error)) return stop_writing();
    }
    if (written < head.size()) keep(head.subspan(written));
    const std::size_t payload_written = written < head.size() ? 0 : written - head.size();
    if (payload_written < payload.size()) keep(payload.subspan(payload_written));
}

// One piece is cheaper for the system than two, as long as it is cheap to make.
std::size_t TcpConnection::write_now(std::span<const std::byte> head, std::span<const std::byte> payload, boost::system::error_code& error) noexcept {
    std::array<std::byte, 512> piece;
    const std::size_t size = head.size() + payload.size();
    if (size > piece.size()) {
        const std::array<asio::const_buffer, 2> parts = {asio::const_buffer(head.data(), head.size()), asio::const_buffer(payload.data(), payload.size())};
        return socket_.write_some(parts, error);
    }
    std::memcpy(piece.data(), head.data(), head.size());
    if (!payload.empty()) std::memcpy(piece.data() + head.size(), payload.data(), payload.size());
    return socket_.write_some(asio::const_buffer(piece.data(), size), error);
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
        stop_writing();
    }
    pending_.clear();
    pending_begin_ = 0;
    return true;
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
    const asio::mutable_buffer next(head_.data() + head_end_, room);
    const std::array<asio::mutable_buffer, 2> parts = {asio::mutable_buffer(target_, missing_), next};
    boost::system::error_code error;
    const std::size_t got = missing_ == 0 ? socket_.read_some(next, error) : socket_.read_some(parts, error);
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
    const std::size_t lane = lane_of(frame_);
    if (frame_.slot >= in_flight_slots || lane >= lanes_.count() || frame_.kind > FrameKind::goodbye) return false;
    if (!lanes_.credit(lane, frame_.consumed)) return false;
    in_frame_ = heard_ = true;
    missing_ = frame_.length;
    if (frame_.kind != FrameKind::data) {
        target_ = control_.data();
        return frame_.length <= control_payload_limit;
    }
    target_ = lanes_.begin(lane, frame_.length, frame_.digest);
    return target_ != nullptr;
}

void TcpConnection::end_frame() noexcept {
    in_frame_ = false;
    target_ = nullptr;
    switch (frame_.kind) {
        case FrameKind::data:
            lanes_.end(lane_of(frame_));
            return;
        case FrameKind::record:
            if (frame_.length == sizeof(CallRecord)) std::memcpy(&peer_.records[frame_.slot], control_.data(), sizeof(CallRecord));
            return;
        case FrameKind::completed:
            peer_.completed = std::max(peer_.completed, frame_.digest);
            return;
        case FrameKind::abort:
            if (peer_.abort_reason.empty()) peer_.abort_reason.assign(reinterpret_cast<const char*>(control_.data()), frame_.length);
            return;
        case FrameKind::invitation:
            peer_.invitation.assign(reinterpret_cast<const char*>(control_.data()), frame_.length);
            return;
        case FrameKind::goodbye:
            ended_ = true;
            return;
        case FrameKind::credit:
            return;
    }
}

void TcpConnection::withdraw() noexcept {
    lanes_.withdraw();
    if (in_frame_ && frame_.kind == FrameKind::data) target_ = lanes_.fragment(lane_of(frame_)) + (frame_.length - missing_);
}

// A host that is only slow confirms: a full window shows as unsent bytes, not as unconfirmed ones.
bool TcpConnection::silent_for(std::int64_t ms) const noexcept {
    tcp_info info{};
    socklen_t length = sizeof info;
    if (closed_ || ::getsockopt(descriptor_, IPPROTO_TCP, TCP_INFO, &info, &length) != 0) return false;
    return info.tcpi_unacked > 0 && info.tcpi_retransmits > 0 && static_cast<std::int64_t>(info.tcpi_last_ack_recv) >= ms;
}

bool TcpConnection::unconfirmed() const noexcept {
    int bytes = 0;
    return takes_ && ::ioctl(descriptor_, SIOCOUTQ, &bytes) == 0 && bytes > 0;
}

}  // namespace attune::collectives
