//! The kernel's values go into PostgreSQL and come back as they were.

use chrono::NaiveDate;
use rentroll::dates::{Cycle, Period, Renewal, Steps, Zone};
use rentroll::labels::Labels;
use rentroll::money::{Currency, Sum, parse_scientific};
use rentroll::text::{Email, Name};
use rust_decimal::Decimal;
use sqlx::{PgConnection, Row as _};

use crate::harness::TestDatabase;

async fn there_and_back<T>(connection: &mut PgConnection, cast: &'static str, value: T)
where
    T: Clone + PartialEq + std::fmt::Debug + Send + 'static,
    T: sqlx::Type<sqlx::Postgres> + for<'q> sqlx::Encode<'q, sqlx::Postgres> + for<'r> sqlx::Decode<'r, sqlx::Postgres>,
{
    let sql = sqlx::AssertSqlSafe(format!("select $1::{cast}"));
    let row = sqlx::query(sql).bind(value.clone()).fetch_one(connection).await.expect("the value goes in");
    assert_eq!(row.get::<T, _>(0), value);
}

#[tokio::test]
async fn values_come_back_from_the_database_as_they_were() {
    let database = TestDatabase::new().await;
    let connection = &mut database.superuser().await;
    there_and_back(connection, "text", "CNY".parse::<Currency>().unwrap()).await;
    there_and_back(connection, "text", "竹简-预训练".parse::<Name>().unwrap()).await;
    there_and_back(connection, "text", "lin@palmfan.example".parse::<Email>().unwrap()).await;
    there_and_back(connection, "jsonb", "spare=;用途=训练".parse::<Labels>().unwrap()).await;
    there_and_back(connection, "text", "Europe/Berlin".parse::<Zone>().unwrap()).await;
    there_and_back(connection, "text", Renewal::OnRequest).await;
    there_and_back(connection, "integer", Cycle::Months(14)).await;
    there_and_back(connection, "integer", Cycle::Once).await;
    there_and_back(connection, "integer[]", Steps::default()).await;
    there_and_back(connection, "date", "2026-03".parse::<Period>().unwrap()).await;
    there_and_back(connection, "text[]", vec!["CNY".parse::<Currency>().unwrap()]).await;
    there_and_back(connection, "text[]", Renewal::ALL.to_vec()).await;
    there_and_back(connection, "date[]", vec![Period::of_date(NaiveDate::from_ymd_opt(2026, 3, 31).unwrap())]).await;
}

// case M10
#[tokio::test]
async fn amounts_of_any_size_are_summed_by_the_database_and_read_exactly() {
    let database = TestDatabase::new().await;
    let connection = &mut database.superuser().await;
    let amounts: Vec<Decimal> =
        ["9999999999999999999999999999", "0.0000000000000000000000000001", "-196.84", "1.81E-8"]
            .map(|text| parse_scientific(text).unwrap())
            .to_vec();
    let row = sqlx::query("select sum(amount), array_agg(amount order by place) from unnest($1::numeric[]) with ordinality as t (amount, place)")
        .bind(&amounts)
        .fetch_one(connection)
        .await
        .unwrap();
    assert_eq!(row.get::<Vec<Decimal>, _>(1), amounts);
    let sum = row.get::<Sum, _>(0);
    assert_eq!(sum, amounts.iter().sum::<Sum>());
    assert_eq!(sum.plain(), "9999999999999999999999999802.1600000181000000000000000001");
    assert_eq!(sum.to_decimal().unwrap_err().key, "error-decimal-digits");
}
