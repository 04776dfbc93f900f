// Notices: what the ranks of a group tell each other where operations cannot end, and what the
// system tells of their processes. Of all that one text is made, the same on all ranks.
#pragma once

#include <algorithm>
#include <chrono>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include <xgrad_distributed/mpi.hpp>
#include <xgrad_distributed/processes.hpp>

namespace xgrad::distributed::detail {

/// A message of a rank whose operations cannot end.
struct Notice {
    enum Reason : std::int32_t { stopped, mismatch, timeout, gone };
    std::int32_t rank;
    Reason reason;
    std::uint64_t position;   // of the operation where ranks disagree; the rank that is gone
    std::uint64_t length = 0; // of the text
    char characters[480] = {};

    /// What does not fit is left out.
    void set_text(std::string_view text) noexcept {
        constexpr std::string_view cut = " ...";
        length = text.copy(characters, sizeof characters);
        if (length < text.size()) cut.copy(characters + length - cut.size(), cut.size());
    }
    std::string_view text() const noexcept { return {characters, length}; }
};

class Notices {
public:
    /// Exchanges the processes of the ranks; wait_for(request) waits for all of them. It may throw.
    template <class F> void begin(MPI_Comm control, F wait_for) {
        control_ = control;
        MPI_Comm_rank(control, &rank_);
        int size = 0;
        MPI_Comm_size(control, &size);
        auto const n = static_cast<std::size_t>(size);
        heard_.resize(n);
        gone_.resize(n);
        std::vector<Process> mine(n);
        mine[own()] = Process::of_this();
        processes_ = received(
            std::move(mine),
            [control](auto& all, MPI_Request& request) {
                check(MPI_Iallgather(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, all.data(),
                          sizeof(Process), MPI_BYTE, control, &request),
                    "MPI_Iallgather");
            },
            wait_for);
    }

    /// Takes one notice that has come.
    bool receive(Notice& notice) noexcept {
        int flag = 0;
        MPI_Status status;
        if (MPI_Iprobe(MPI_ANY_SOURCE, tag, control_, &flag, &status) != MPI_SUCCESS || !flag)
            return false;
        if (MPI_Recv(&notice, sizeof notice, MPI_BYTE, status.MPI_SOURCE, tag, control_,
                MPI_STATUS_IGNORE) != MPI_SUCCESS)
            return false;
        heard_[static_cast<std::size_t>(notice.rank)] = notice;
        if (notice.reason == Notice::gone) mark_gone(notice.position);
        return true;
    }
    bool has_heard_any() const noexcept {
        return std::ranges::any_of(heard_, [](auto const& n) { return n.has_value(); });
    }
    /// Tells all other ranks. MPI reads the notice until they have it: this must stay.
    void tell(Notice::Reason reason, std::uint64_t position, std::string_view text) {
        notice_ = {.rank = rank_,
            .reason = reason,
            .position = reason == Notice::gone ? last_gone_ : position};
        notice_.set_text(text);
        heard_[own()] = notice_;
        sent_.assign(heard_.size(), MPI_REQUEST_NULL);
        for (std::size_t r = 0; r < sent_.size(); ++r)
            if (r != own())
                MPI_Isend(&notice_, sizeof notice_, MPI_BYTE, static_cast<int>(r), tag, control_,
                    &sent_[r]);
    }
    /// Waits for the notices of the others, until one of them has stopped.
    void hear_others(std::chrono::milliseconds at_most) noexcept {
        auto const end = std::chrono::steady_clock::now() + at_most;
        auto const awaits_any = [this] {
            for (std::size_t r = 0; r < heard_.size(); ++r)
                if (!heard_[r] && !gone_[r]) return true;
            return false;
        };
        Notice notice;
        while (awaits_any() && std::chrono::steady_clock::now() < end) {
            if (receive(notice) && notice.reason == Notice::stopped) return;
            std::this_thread::yield();
        }
    }
    /// Waits until the notice of this rank has left, at most a second.
    void deliver() noexcept {
        auto const end = std::chrono::steady_clock::now() + std::chrono::seconds(1);
        for (std::size_t r = 0; r < sent_.size(); ++r)
            for (int done = 0; !done && std::chrono::steady_clock::now() < end;) {
                if (MPI_Test(&sent_[r], &done, MPI_STATUS_IGNORE) != MPI_SUCCESS || has_ended(r))
                    break;
                if (!done) std::this_thread::yield();
            }
    }

    /// A rank of this machine whose process has ended.
    std::optional<std::size_t> find_ended() const noexcept {
        for (std::size_t r = 0; r < processes_.size(); ++r)
            if (has_ended(r)) return r;
        return {};
    }
    void mark_gone(std::size_t rank) noexcept { gone_[last_gone_ = rank] = true; }

    /// The text of the error. `limit`: the time limit, "1.5 s".
    std::string error_text(Notice::Reason reason, std::string_view limit) const {
        for (auto const& n : heard_)
            if (n && n->reason == Notice::stopped)
                return xgrad::detail::message_of({"rank ", n->rank, " stopped: ", n->text()});
        // ranks that say the same stand together, in the order of their lowest
        std::vector<std::pair<std::string_view, std::vector<std::size_t>>> said;
        for (std::size_t r = 0; r < heard_.size(); ++r) {
            auto const& n = heard_[r];
            std::string_view const text = n          ? n->text()
                                          : gone_[r] ? "its process has ended"
                                                     : "no answer (killed, busy, or gone)";
            auto const same =
                std::ranges::find_if(said, [&](auto const& s) { return s.first == text; });
            if (same != said.end()) same->second.push_back(r);
            else said.push_back({text, {r}});
        }
        std::string out(reason == Notice::mismatch ? "the ranks do not call the same operation"
                        : reason == Notice::gone ? "a rank was killed, or left without MPI_Finalize"
                                                 : "no operation ended within the time limit of ");
        if (reason == Notice::timeout) out += limit;
        char const* separator = ". ";
        for (auto const& [text, ranks] : said)
            out += xgrad::detail::message_of(
                {std::exchange(separator, "; "), list_of(ranks), ": ", text});
        return out;
    }

private:
    static constexpr int tag = 1;

    std::size_t own() const noexcept { return static_cast<std::size_t>(rank_); }
    bool has_ended(std::size_t rank) const noexcept {
        return processes_[rank].has_ended(processes_[own()]);
    }
    /// "rank 3", "ranks 0, 1, 2, 4 and 60 others"
    static std::string list_of(std::vector<std::size_t> const& ranks) {
        constexpr std::size_t shown = 8;
        std::string out = ranks.size() == 1 ? "rank " : "ranks ";
        for (std::size_t i = 0; i < std::min(shown, ranks.size()); ++i)
            out += (i ? ", " : "") + std::to_string(ranks[i]);
        if (ranks.size() > shown) out += " and " + std::to_string(ranks.size() - shown) + " others";
        return out;
    }

    MPI_Comm control_ = MPI_COMM_NULL;
    int rank_ = 0;
    std::vector<Process> processes_;           // by rank
    std::vector<std::optional<Notice>> heard_; // by rank
    std::vector<char> gone_;                   // by rank: whether its process has ended
    std::size_t last_gone_ = 0;
    Notice notice_{};
    std::vector<MPI_Request> sent_; // by rank
};

} // namespace xgrad::distributed::detail
