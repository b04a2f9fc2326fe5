//! What an environment is used for.

use crate::text::word_set;

word_set! {
    /// What an environment is used for.
    Scenario, "error-scenario", {
        /// Finding faults.
        Debug = "debug", "scenario-debug", ["调试"];
        /// Training a model from the start.
        Training = "training", "scenario-training", ["训练"];
        /// Training a model further.
        FineTuning = "fine_tuning", "scenario-fine-tuning", ["微调"];
        /// Answering requests.
        Inference = "inference", "scenario-inference", ["推理"];
        /// Measuring a model.
        Evaluation = "evaluation", "scenario-evaluation", ["评测"];
        /// Work that can wait.
        Batch = "batch", "scenario-batch", ["批处理"];
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::locale::Locale;

    #[test]
    fn a_scenario_reads_back_from_its_code_and_from_both_languages() {
        for scenario in Scenario::ALL.iter().copied() {
            assert_eq!(scenario.as_str().parse(), Ok(scenario));
            for locale in Locale::ALL {
                assert_eq!(locale.say(&scenario.words()).parse(), Ok(scenario), "{locale}");
            }
        }
        assert_eq!("gaming".parse::<Scenario>().unwrap_err().key, "error-scenario");
    }
}
