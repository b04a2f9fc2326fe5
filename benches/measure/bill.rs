//! A bill to import: one month of one account as FOCUS 1.0, the same bytes at every run.

use std::fs::File;
use std::io::{BufWriter, Write as _};
use std::path::Path;

use anyhow::Result;

/// The columns of FOCUS 1.0, in the order of the file, with their types in the table that the bare copy fills.
pub const COLUMNS: [(&str, &str); 43] = [
    ("AvailabilityZone", "text"),
    ("BilledCost", "numeric"),
    ("BillingAccountId", "text"),
    ("BillingAccountName", "text"),
    ("BillingCurrency", "text"),
    ("BillingPeriodEnd", "timestamptz"),
    ("BillingPeriodStart", "timestamptz"),
    ("ChargeCategory", "text"),
    ("ChargeClass", "text"),
    ("ChargeDescription", "text"),
    ("ChargeFrequency", "text"),
    ("ChargePeriodEnd", "timestamptz"),
    ("ChargePeriodStart", "timestamptz"),
    ("CommitmentDiscountCategory", "text"),
    ("CommitmentDiscountId", "text"),
    ("CommitmentDiscountName", "text"),
    ("CommitmentDiscountStatus", "text"),
    ("CommitmentDiscountType", "text"),
    ("ConsumedQuantity", "numeric"),
    ("ConsumedUnit", "text"),
    ("ContractedCost", "numeric"),
    ("ContractedUnitPrice", "numeric"),
    ("EffectiveCost", "numeric"),
    ("InvoiceIssuerName", "text"),
    ("ListCost", "numeric"),
    ("ListUnitPrice", "numeric"),
    ("PricingCategory", "text"),
    ("PricingQuantity", "numeric"),
    ("PricingUnit", "text"),
    ("ProviderName", "text"),
    ("PublisherName", "text"),
    ("RegionId", "text"),
    ("RegionName", "text"),
    ("ResourceId", "text"),
    ("ResourceName", "text"),
    ("ResourceType", "text"),
    ("ServiceCategory", "text"),
    ("ServiceName", "text"),
    ("SkuId", "text"),
    ("SkuPriceId", "text"),
    ("SubAccountId", "text"),
    ("SubAccountName", "text"),
    ("Tags", "jsonb"),
];

/// Writes so many lines for an account of provider 1: charges of November 2026 for the account's own resources, a line an
/// hour and resource until there are enough.
pub fn write(path: &Path, account: u32, lines: u32) -> Result<()> {
    let mut file = BufWriter::new(File::create(path)?);
    let header: Vec<&str> = COLUMNS.iter().map(|(name, _)| *name).collect();
    writeln!(file, "{}", header.join(","))?;
    for i in 0..lines {
        // Resources of provider 1 are the multiples of five, see `records.sql`; a hundred of them belong to the account.
        let resource = 5 * (4 * (i % 100) + account - 1);
        let resource = if resource == 0 { 2000 } else { resource };
        let hour = i / 100 % 719;
        let (start, end) = (instant(hour), instant(hour + 1));
        let cost = 37_123 + u64::from(i % 97) * 1_013 + u64::from(resource);
        let of = |percent: u64| format!("0.{:010}", cost * percent);
        let (list, contracted, billed, effective) = (of(1000), of(950), of(900), of(875));
        let service = ["GPU 云服务器", "对象存储", "弹性公网 IP", "文件存储"][(i % 4) as usize];
        let team = resource % 12;
        writeln!(
            file,
            "cn-east-1a,{billed},account-{account},集团总部,CNY,2026-12-01T00:00:00Z,2026-11-01T00:00:00Z,Usage,,\
             \"8×H800 按量计费, cn-east-1, 每小时\",Usage-Based,{end},{start},,,,,,1,Hours,{contracted},{contracted},{effective},\
             服务商 1,{list},{list},Standard,1,Hours,服务商 1,服务商 1,cn-east-1,华东 1,i-{resource:08},gpu-node-{resource},\
             instance,Compute,{service},SKU-{team},SKU-{team}.{i},team-{team},团队 {team},\
             \"{{\"\"team\"\": \"\"team-{team}\"\", \"\"env\"\": \"\"train\"\"}}\""
        )?;
    }
    file.flush()?;
    Ok(())
}

/// The hour of November 2026, counted from its first; the 720th is the first of December.
fn instant(hour: u32) -> String {
    match hour {
        720.. => "2026-12-01T00:00:00Z".to_owned(),
        _ => format!("2026-11-{:02}T{:02}:00:00Z", 1 + hour / 24, hour % 24),
    }
}
