// Evidence of a row in JSON.
#include "apps/tools/support/lookup_answer.hpp"

namespace attune::tools {

Json evidence_json(const db::ReleaseRow& row) {
    const core::TableRow& choice = row.row;
    const db::Evidence& evidence = row.evidence;
    Json out = {{"row", row.id},
                {"low_bytes", choice.low_bytes},
                {"high_bytes", choice.high_bytes},
                {"config", choice.config.text()},
                {"default_config", choice.default_config.text()},
                {"default_version", choice.default_version},
                {"algorithm_version", choice.algorithm_version},
                {"instruction_set", choice.instruction_set},
                {"default_us", choice.default_ns / 1000},
                {"best_us", choice.best_ns / 1000},
                {"gain", choice.gain},
                {"ci_low", choice.gain_low},
                {"ci_high", choice.gain_high},
                {"launches", evidence.launches},
                {"blocks", evidence.blocks},
                {"floor", evidence.floor},
                {"p_value", evidence.p_value},
                {"candidates", evidence.candidates},
                {"complete", evidence.complete},
                {"verification", evidence.verification},
                {"run", evidence.run},
                {"utc", evidence.utc},
                {"cut_set", evidence.cut_set}};
    out["classes"] = Json::array();
    for (const db::ClassGain& gain : evidence.classes) {
        out["classes"].push_back({{"class", gain.placement}, {"blocks", gain.blocks}, {"ratio", gain.ratio}, {"ci_low", gain.low}, {"ci_high", gain.high}});
    }
    return out;
}

}  // namespace attune::tools
