//! What kind of cost a line is: the charge category of FOCUS, and the cost kind. Two questions, so two sets of words.

use crate::text::word_set;

word_set! {
    /// FOCUS ChargeCategory: how the cost came about. Any of them may be negative; there is no "refund".
    Category, "error-category", {
        /// By use.
        Usage = "usage", "category-usage", ["用量"];
        /// Bought ahead, or a fee.
        Purchase = "purchase", "category-purchase", ["购买"];
        /// A tax.
        Tax = "tax", "category-tax", ["税"];
        /// Granted by the provider.
        Credit = "credit", "category-credit", ["抵扣"];
        /// Put right afterwards.
        Adjustment = "adjustment", "category-adjustment", ["调整"];
    }
}

word_set! {
    /// FOCUS ChargeClass, where there is one.
    Class, "error-class", {
        /// Corrects a period that was invoiced before.
        Correction = "correction", "class-correction", ["更正"];
    }
}

word_set! {
    /// What the money went for.
    CostKind, "error-cost-kind", {
        /// Machines and cards.
        Compute = "compute", "cost-kind-compute", ["算力"];
        /// Storage.
        Storage = "storage", "cost-kind-storage", ["存储"];
        /// Network within a region.
        Network = "network", "cost-kind-network", ["网络"];
        /// Traffic between regions.
        CrossRegion = "cross_region", "cost-kind-cross-region", ["跨区传输"];
        /// Waiting for machines.
        Queueing = "queueing", "cost-kind-queueing", ["排队"];
        /// Jobs that failed and ran again.
        FailedJobs = "failed_jobs", "cost-kind-failed-jobs", ["失败任务"];
        /// Support of the provider.
        Support = "support", "cost-kind-support", ["技术支持"];
        /// Own hardware: depreciation.
        Depreciation = "depreciation", "cost-kind-depreciation", ["折旧"];
        /// Own hardware: power.
        Power = "power", "cost-kind-power", ["电费"];
        /// Own hardware: the room.
        Room = "room", "cost-kind-room", ["机房"];
        /// Own hardware: people.
        Staff = "staff", "cost-kind-staff", ["人力"];
        /// Own hardware: spare parts.
        Spares = "spares", "cost-kind-spares", ["备件"];
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::locale::Locale;

    #[test]
    fn every_word_reads_back_from_its_code_and_from_both_languages() {
        for category in Category::ALL.iter().copied() {
            assert_eq!(category.as_str().parse(), Ok(category));
            for locale in Locale::ALL {
                assert_eq!(locale.say(&category.words()).parse(), Ok(category), "{locale}");
            }
        }
        for kind in CostKind::ALL.iter().copied() {
            assert_eq!(kind.as_str().parse(), Ok(kind));
            for locale in Locale::ALL {
                assert_eq!(locale.say(&kind.words()).parse(), Ok(kind), "{locale}");
            }
        }
        assert_eq!("USAGE".parse(), Ok(Category::Usage));
        assert_eq!("Correction".parse(), Ok(Class::Correction));
        assert_eq!("refund".parse::<Category>().unwrap_err().key, "error-category");
    }
}
