//! What the mails say.

use rentroll::dates::{Cycle, Notice, Renewal};
use rentroll::environments::term::NewTerm;
use rentroll::mail::{Mailbox, Mailer, Memory, Outgoing};
use rust_decimal::Decimal;

use super::{day, sql};
use crate::harness::{TestApp, remind};

fn yearly() -> NewTerm {
    NewTerm {
        cycle: Cycle::MONTHLY,
        quantity: Decimal::from(4),
        price: Some(Decimal::from(68_000)),
        currency: Some("CNY".parse().unwrap()),
        ..NewTerm::between(day("2025-04-01"), Some(day("2026-03-31")))
    }
}

/// The owner's mail.
fn owners(app: &TestApp) -> Outgoing {
    app.mails().into_iter().find(|mail| mail.to.address() == "owner@palmfan.example").unwrap()
}

async fn with_watcher(app: &TestApp) {
    sql(
        app,
        "insert into person (name, email, created_at) values ('林小满', 'watcher@palmfan.example', now());
         insert into environment_watcher (project_id, environment_id, person_id)
         select e.project_id, e.id, p.id from environment e, person p where p.name = '林小满'",
    )
    .await;
}

// case R13: golden mail, in Chinese, late.
#[tokio::test]
async fn a_reminder_tells_its_facts_in_labelled_lines() {
    let app = TestApp::behind("https://ledger.palmfan.example/roll").await;
    app.open_environment_with("竹简-预训练", yearly()).await;
    with_watcher(&app).await;
    app.go_to("2026-03-15");
    app.remind().await;
    app.go_to("2026-03-18");
    app.remind().await;
    let mail = owners(&app);
    insta::assert_snapshot!(mail.subject, @"【还有 13 天】竹简-预训练 到期，3月31日（周二）前定是否续费");
    insta::assert_snapshot!(mail.text, @r"
    陈白露：

    竹简-预训练（竹简大模型）还有 13 天到期，还没定是否续费。
    本应 3月16日（周一）发出，迟发。

    环境：　　　　竹简-预训练
    项目：　　　　竹简大模型
    服务商：　　　苇塘云
    档位：　　　　H800×8
    数量：　　　　4
    开始日：　　　2025年4月1日（周二）
    到期日：　　　3月31日（周二），含当日
    还有：　　　　13 天
    通知截止日：　无须提前通知
    续费方式：　　手动续费
    每期费用：　　272,000.00 元（68,000.00 元 × 4，每月）
    不处理会怎样：4月1日（周三）0 点停止服务

    去决定：https://ledger.palmfan.example/roll/environments/1

    提醒规则：到期前 15、7、3、1 天和当天各提醒一次；逾期当天一次，之后每周一次，最多 8 周，定下来为止。下一封：3月24日（周二）。
    发给你，因为你是负责人；同时发给 宋霜降（复核人）、林小满（抄送人）。
    ");
    insta::assert_snapshot!(mail.html, @r#"
    <!doctype html>
    <html lang="zh-CN">
    <head><meta charset="utf-8"></head>
    <body>
    <p>陈白露：</p>
    <p><strong>竹简-预训练（竹简大模型）还有 13 天到期，还没定是否续费。</strong></p>
    <p><strong>本应 3月16日（周一）发出，迟发。</strong></p>
    <table border="0" cellpadding="4" cellspacing="0">
    <tr><th align="left" valign="top">环境：</th><td>竹简-预训练</td></tr>
    <tr><th align="left" valign="top">项目：</th><td>竹简大模型</td></tr>
    <tr><th align="left" valign="top">服务商：</th><td>苇塘云</td></tr>
    <tr><th align="left" valign="top">档位：</th><td>H800×8</td></tr>
    <tr><th align="left" valign="top">数量：</th><td>4</td></tr>
    <tr><th align="left" valign="top">开始日：</th><td>2025年4月1日（周二）</td></tr>
    <tr><th align="left" valign="top">到期日：</th><td>3月31日（周二），含当日</td></tr>
    <tr><th align="left" valign="top">还有：</th><td>13 天</td></tr>
    <tr><th align="left" valign="top">通知截止日：</th><td>无须提前通知</td></tr>
    <tr><th align="left" valign="top">续费方式：</th><td>手动续费</td></tr>
    <tr><th align="left" valign="top">每期费用：</th><td>272,000.00 元（68,000.00 元 × 4，每月）</td></tr>
    <tr><th align="left" valign="top">不处理会怎样：</th><td>4月1日（周三）0 点停止服务</td></tr>
    </table>
    <p>去决定：<a href="https://ledger.palmfan.example/roll/environments/1">https://ledger.palmfan.example/roll/environments/1</a></p>
    <p>提醒规则：到期前 15、7、3、1 天和当天各提醒一次；逾期当天一次，之后每周一次，最多 8 周，定下来为止。下一封：3月24日（周二）。</p>
    <p>发给你，因为你是负责人；同时发给 宋霜降（复核人）、林小满（抄送人）。</p>
    </body>
    </html>
    "#);
    assert_eq!(mail.to.name(), "陈白露");
    assert!(mail.list_id.unwrap().starts_with("竹简大模型 <project-"));
}

// case R13: golden mail, in English, automatic renewal with a notice; the price is unknown.
#[tokio::test]
async fn a_reminder_speaks_the_readers_language() {
    let app = TestApp::behind("https://ledger.palmfan.example").await;
    let term = NewTerm {
        cycle: Cycle::YEARLY,
        renewal: Renewal::Automatic,
        notice: Notice::parse("30 days").unwrap(),
        ..NewTerm::between(day("2025-04-01"), Some(day("2026-03-31")))
    };
    app.open_environment_with("Bamboo-slip pretraining", term).await;
    sql(&app, "update person set locale = 'en', name = 'Chen Bailu' where name = '陈白露'").await;
    app.go_to("2026-02-22");
    app.remind().await;
    let mail = owners(&app);
    insta::assert_snapshot!(mail.subject, @"[7 days] Bamboo-slip pretraining: give notice by Sun 1 Mar 2026");
    insta::assert_snapshot!(mail.text, @r"
    Chen Bailu,

    Bamboo-slip pretraining (竹简大模型): notice must be given by Sun 1 Mar 2026; 7 days left.

    Environment:        Bamboo-slip pretraining
    Project:            竹简大模型
    Provider:           苇塘云
    Tier:               H800×8
    Quantity:           1
    First day:          Tue 1 Apr 2025
    Last day:           Tue 31 Mar 2026 (included)
    Left:               37 days
    Cancel by:          Sun 1 Mar 2026
    Renewal:            automatic
    Cost per cycle:     unknown
    If nothing is done: renews itself on Wed 1 Apr 2026, cost unknown

    Decide: https://ledger.palmfan.example/environments/1

    Rule: One reminder 15, 7, 3 and 1 days before and one on the day; one when overdue, then weekly until decided, 8 weeks at most. Next: Thu 26 Feb 2026.
    You get this as the owner; also sent to 宋霜降 (checker).
    ");
    assert!(app.mails().iter().any(|mail| mail.subject.starts_with("【还有 7 天】")), "the checker reads Chinese");
}

// cases E09, E10: the text has no HTML in it, and the HTML has all that the text has.
#[tokio::test]
async fn text_and_html_tell_the_same() {
    let app = TestApp::behind("https://ledger.palmfan.example").await;
    app.open_environment_with("<b>竹简</b> & 预训练", yearly()).await;
    app.remind().await;
    let mail = owners(&app);
    let html = scraper::Html::parse_document(&mail.html);
    let seen: String = html.root_element().text().collect::<String>().split_whitespace().collect();
    for line in mail.text.lines() {
        let line: String = line.split_whitespace().collect();
        assert!(seen.contains(&line), "the HTML lacks {line}: {seen}");
    }
    assert!(mail.text.contains("环境：　　　　<b>竹简</b> & 预训练"), "a name is a name");
    assert!(mail.html.contains("&lt;b&gt;") || mail.html.contains("&#60;b&#62;"), "{}", mail.html);
    assert!(!mail.text.contains("<td>"));
}

// case R13: the variants by date, as subjects in both languages.
#[tokio::test]
async fn the_subject_says_the_days_first() {
    let app = TestApp::new().await;
    let with = |renewal, notice| NewTerm { renewal, notice: Notice::parse(notice).unwrap(), ..yearly() };
    app.open_environment_with("甲", with(Renewal::OnRequest, "")).await;
    app.open_environment_with("乙", with(Renewal::Automatic, "1 months")).await;
    sql(&app, "update person set locale = 'en' where name = '宋霜降'").await;
    let mut subjects = Vec::new();
    for today in ["2026-02-27", "2026-02-28", "2026-03-01", "2026-03-24", "2026-03-30", "2026-03-31", "2026-04-01"] {
        app.go_to(today);
        let before = app.mails().len();
        app.remind().await;
        let mut new: Vec<String> = app.mails()[before..].iter().map(|mail| mail.subject.clone()).collect();
        new.sort();
        subjects.push(format!("{today}\n  {}", new.join("\n  ")));
    }
    insta::assert_snapshot!(subjects.join("\n"), @r"
    2026-02-27
      [1 day] 乙: give notice by Sat 28 Feb 2026
      【还有 1 天】乙 不续须在 2月28日（周六）前通知
    2026-02-28
      [Today] 乙: last day to give notice
      【今天截止】乙 不续须今天通知
    2026-03-01
      [1 day ago] 乙: the last day to give notice has passed
      【已逾期 1 天】乙 通知截止日已过
    2026-03-24
      [7 days] 乙 ends: decide by Tue 31 Mar 2026
      [7 days] 甲 ends: decide by Tue 31 Mar 2026
      【还有 7 天】乙 到期，3月31日（周二）前定是否续费
      【还有 7 天】甲 到期，3月31日（周二）前定是否续费
    2026-03-30
      [1 day] 乙 ends: decide by Tue 31 Mar 2026
      [1 day] 甲 ends: decide by Tue 31 Mar 2026
      【还有 1 天】乙 到期，3月31日（周二）前定是否续费
      【还有 1 天】甲 到期，3月31日（周二）前定是否续费
    2026-03-31
      [Today] 乙 renews itself at midnight
      [Today] 甲 ends at midnight
      【今天到期】乙，今晚 24 点自动续费
      【今天到期】甲，今晚 24 点停止服务
    2026-04-01
      [1 day ago] 乙 has ended, undecided
      [1 day ago] 甲 has ended, undecided
      【已到期 1 天】乙 还没定是否续费
      【已到期 1 天】甲 还没定是否续费
    ");
}

// case N03: without a public address there is no link, and never localhost.
#[tokio::test]
async fn without_a_public_address_a_mail_has_no_link() {
    let app = TestApp::new().await;
    app.open_environment_with("竹简-预训练", yearly()).await;
    let memory = Memory::new(Mailbox::new("", "ledger@rentroll.example").unwrap());
    let bare = app.another(Mailer::Memory(memory.clone()), None).await;
    remind(&bare, None).await;
    for mail in memory.messages() {
        for part in [&mail.text, &mail.html] {
            assert!(!part.contains("localhost") && !part.contains("http"), "{part}");
        }
    }
    assert_eq!(memory.messages().len(), 2);
}

// case R16: an overdue date is told as over.
#[tokio::test]
async fn an_overdue_environment_is_told_as_over() {
    let app = TestApp::behind("https://ledger.palmfan.example").await;
    app.open_environment_with("竹简-预训练", yearly()).await;
    app.go_to("2026-04-02");
    app.remind().await;
    let mail = owners(&app);
    insta::assert_snapshot!(mail.subject, @"【已到期 2 天】竹简-预训练 还没定是否续费");
    insta::assert_snapshot!(mail.text, @r"
    陈白露：

    竹简-预训练（竹简大模型）已到期 2 天，还没登记续费或退租。

    环境：　　　　竹简-预训练
    项目：　　　　竹简大模型
    服务商：　　　苇塘云
    档位：　　　　H800×8
    数量：　　　　4
    开始日：　　　2025年4月1日（周二）
    到期日：　　　3月31日（周二），含当日
    还有：　　　　已到期 2 天
    通知截止日：　无须提前通知
    续费方式：　　手动续费
    每期费用：　　272,000.00 元（68,000.00 元 × 4，每月）
    不处理会怎样：服务随时可能停止，数据随时可能被删除

    去决定：https://ledger.palmfan.example/environments/1

    提醒规则：到期前 15、7、3、1 天和当天各提醒一次；逾期当天一次，之后每周一次，最多 8 周，定下来为止。下一封：4月8日（周三）。
    发给你，因为你是负责人；同时发给 宋霜降（复核人）。
    ");
}
