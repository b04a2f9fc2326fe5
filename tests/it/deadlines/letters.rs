//! What the mails say.

use rentroll::actor::Role;
use rentroll::dates::{Cycle, Notice, Renewal};
use rentroll::environments::term::NewTerm;
use rentroll::jobs;
use rentroll::locale::Locale;
use rentroll::mail::{Mailbox, Mailer, Memory, Outgoing};
use rust_decimal::Decimal;

use super::delivering::mailer_to;
use super::{day, sql};
use crate::harness::smtp_sink::{At, Fault, SmtpSink};
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
    这条提醒本应 3月16日（周一）发出，迟发。

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
    <p><strong>这条提醒本应 3月16日（周一）发出，迟发。</strong></p>
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

    Bamboo-slip pretraining (竹简大模型) renews itself on Wed 1 Apr 2026 unless notice is given by Sun 1 Mar 2026; 7 days left.

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
    If nothing is done: renews itself on Wed 1 Apr 2026 until Wed 31 Mar 2027, cost unknown

    The environment: https://ledger.palmfan.example/environments/1

    Rule: One reminder 15, 7, 3 and 1 days before and one on the day; one when overdue, then weekly until decided, 8 weeks at most. Next: Thu 26 Feb 2026.
    You get this as the owner; also sent to 宋霜降 (checker).
    ");
    assert!(app.mails().iter().any(|mail| mail.subject.starts_with("【还有 7 天】")), "the checker reads Chinese");
}

// case R24: what the mail says will be booked is what is booked.
#[tokio::test]
async fn a_mail_names_the_cost_and_the_last_day_of_the_term_that_will_be_booked() {
    let app = TestApp::at("2026-09-01T02:00:00Z").await;
    for (name, starts_on, ends_on) in [("Slip", "2026-08-31", "2026-09-30"), ("Reed", "2026-06-30", "2026-09-30")] {
        let term = NewTerm {
            cycle: Cycle::MONTHLY,
            renewal: Renewal::Automatic,
            quantity: 2.into(),
            price: Some(100.into()),
            currency: Some("CNY".parse().unwrap()),
            ..NewTerm::between(day(starts_on), Some(day(ends_on)))
        };
        app.open_environment_with(name, term).await;
    }
    sql(&app, "update person set locale = 'en'").await;
    app.go_to("2026-09-15");
    app.remind().await;
    let promised = |name: &str| {
        let mail = app.mails().into_iter().find(|mail| mail.subject.contains(name)).expect("a mail");
        mail.text.lines().find_map(|line| line.strip_prefix("If nothing is done: ")).expect("a line").to_owned()
    };
    let one = "renews itself on Thu 1 Oct 2026 until Sat 31 Oct 2026 for about CNY 200.00";
    assert_eq!(promised("Slip"), one);
    let three = "renews itself on Thu 1 Oct 2026 until Thu 31 Dec 2026 for about CNY 600.00";
    assert_eq!(promised("Reed"), three);
    app.go_to("2026-10-01");
    jobs::run(&app.app, jobs::find("renewals").unwrap(), None).await.unwrap();
    let sentences: Vec<String> = app
        .history()
        .await
        .iter()
        .filter(|entry| entry.action == "term.renewed")
        .map(|entry| entry.sentence(&Locale::En))
        .collect();
    for (name, ends_on) in [("Slip", "2026-10-31"), ("Reed", "2026-12-31")] {
        assert!(sentences.iter().any(|it| it.contains(&format!("renewed {name} to {ends_on}"))), "{sentences:?}");
    }
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

/// What one person reads of each mail made by a tick on each of these days: the subject, the sentences, the label of the link,
/// the rule.
async fn letters_of_days(app: &TestApp, to: &str, days: &[&str]) -> String {
    let mut told = Vec::new();
    for today in days {
        app.go_to(today);
        let before = app.mails().len();
        app.remind().await;
        let mut mails: Vec<Outgoing> =
            app.mails().into_iter().skip(before).filter(|mail| mail.to.address() == to).collect();
        mails.sort_by(|a, b| a.subject.cmp(&b.subject));
        told.push((*today).to_owned());
        for mail in mails {
            told.push(format!("  {}", mail.subject));
            let parts: Vec<&str> = mail.text.split("\n\n").collect();
            told.extend(parts[1].lines().map(|sentence| format!("    {sentence}")));
            let link = parts[3].split("http").next().unwrap();
            told.push(format!("    {}… {}", link.trim(), parts[4].lines().next().unwrap()));
        }
    }
    told.join("\n")
}

/// One environment of each kind of renewal, each to be given notice of a month before, or of none.
async fn each_kind(app: &TestApp, notice: &str) {
    let kinds = [("手动", Renewal::OnRequest), ("自动", Renewal::Automatic), ("不续", Renewal::Never)];
    for (name, renewal) in kinds {
        let notice = Notice::parse(notice).unwrap();
        app.open_environment_with(name, NewTerm { renewal, notice, ..yearly() }).await;
    }
}

// case R13: what a mail says fits how the term is renewed, on every day, and a late one says so of the date that it is late for.
#[tokio::test]
async fn a_mail_says_what_there_is_to_do_for_each_kind_of_renewal() {
    let app = TestApp::behind("https://ledger.palmfan.example").await;
    app.go_to("2026-02-01");
    each_kind(&app, "1 months").await;
    sql(&app, "update organisation set reminder_steps = '{7,1,0}'").await;
    let days = ["2026-02-27", "2026-02-28", "2026-03-01", "2026-03-22", "2026-03-24", "2026-03-31", "2026-04-01"];
    insta::assert_snapshot!(letters_of_days(&app, "owner@palmfan.example", &days).await, @r"
    2026-02-27
      【还有 1 天】不续 到期不续，2月28日（周六）前通知服务商
        不续（竹简大模型）到期不续，须在 2月28日（周六）前通知服务商，还有 1 天。
        查看环境：… 提醒规则：到期前 7、1 天和当天各提醒一次；逾期当天一次，之后每周一次，最多 8 周，登记退租为止。下一封：2月28日（周六）。
      【还有 1 天】手动 不续须在 2月28日（周六）前通知
        手动（竹简大模型）不续须在 2月28日（周六）前通知，还有 1 天。
        去决定：… 提醒规则：到期前 7、1 天和当天各提醒一次；逾期当天一次，之后每周一次，最多 8 周，定下来为止。下一封：2月28日（周六）。
      【还有 1 天】自动 不续须在 2月28日（周六）前通知
        自动（竹简大模型）不续须在 2月28日（周六）前通知，还有 1 天；不通知，4月1日（周三）就自动续费。
        查看环境：… 提醒规则：到期前 7、1 天和当天各提醒一次；逾期当天一次，之后每周一次，最多 8 周，定下来为止。下一封：2月28日（周六）。
    2026-02-28
      【今天截止】不续 到期不续，今天通知服务商
        不续（竹简大模型）到期不续，须在 2月28日（周六）前通知服务商，今天是最后一天。
        查看环境：… 提醒规则：到期前 7、1 天和当天各提醒一次；逾期当天一次，之后每周一次，最多 8 周，登记退租为止。下一封：3月1日（周日）。
      【今天截止】手动 不续须今天通知
        手动（竹简大模型）不续须在 2月28日（周六）前通知，今天是最后一天。
        去决定：… 提醒规则：到期前 7、1 天和当天各提醒一次；逾期当天一次，之后每周一次，最多 8 周，定下来为止。下一封：3月1日（周日）。
      【今天截止】自动 不续须今天通知
        自动（竹简大模型）不续须在 2月28日（周六）前通知，今天是最后一天；不通知，4月1日（周三）就自动续费。
        查看环境：… 提醒规则：到期前 7、1 天和当天各提醒一次；逾期当天一次，之后每周一次，最多 8 周，定下来为止。下一封：3月1日（周日）。
    2026-03-01
      【已逾期 1 天】不续 通知截止日已过，核对是否已通知服务商
        不续（竹简大模型）到期不续，通知截止日是 2月28日（周六），已过 1 天，核对是否已通知服务商。
        查看环境：… 提醒规则：到期前 7、1 天和当天各提醒一次；逾期当天一次，之后每周一次，最多 8 周，登记退租为止。下一封：3月8日（周日）。
      【已逾期 1 天】手动 通知截止日已过
        手动（竹简大模型）的通知截止日是 2月28日（周六），已过 1 天。
        去决定：… 提醒规则：到期前 7、1 天和当天各提醒一次；逾期当天一次，之后每周一次，最多 8 周，定下来为止。下一封：3月8日（周日）。
      【已逾期 1 天】自动 通知截止日已过，将自动续费
        自动（竹简大模型）的通知截止日是 2月28日（周六），已过 1 天；4月1日（周三）将自动续费。
        查看环境：… 提醒规则：到期前 7、1 天和当天各提醒一次；逾期当天一次，之后每周一次，最多 8 周，定下来为止。下一封：3月8日（周日）。
    2026-03-22
      【已逾期 22 天】不续 通知截止日已过，核对是否已通知服务商
        不续（竹简大模型）到期不续，通知截止日是 2月28日（周六），已过 22 天，核对是否已通知服务商。
        查看环境：… 提醒规则：到期前 7、1 天和当天各提醒一次；逾期当天一次，之后每周一次，最多 8 周，登记退租为止。下一封：3月29日（周日）。
      【已逾期 22 天】手动 通知截止日已过
        手动（竹简大模型）的通知截止日是 2月28日（周六），已过 22 天。
        去决定：… 提醒规则：到期前 7、1 天和当天各提醒一次；逾期当天一次，之后每周一次，最多 8 周，定下来为止。下一封：3月29日（周日）。
      【已逾期 22 天】自动 通知截止日已过，将自动续费
        自动（竹简大模型）的通知截止日是 2月28日（周六），已过 22 天；4月1日（周三）将自动续费。
        查看环境：… 提醒规则：到期前 7、1 天和当天各提醒一次；逾期当天一次，之后每周一次，最多 8 周，定下来为止。下一封：3月29日（周日）。
    2026-03-24
      【还有 7 天】不续 3月31日（周二）到期不续
        不续（竹简大模型）还有 7 天到期，不再续费。
        到期前保存好数据；还要接着用，先安排好替换的环境。
        查看环境：… 提醒规则：到期前 7、1 天和当天各提醒一次；逾期当天一次，之后每周一次，最多 8 周，登记退租为止。下一封：3月30日（周一）。
      【还有 7 天】手动 到期，3月31日（周二）前定是否续费
        手动（竹简大模型）还有 7 天到期，还没定是否续费。
        去决定：… 提醒规则：到期前 7、1 天和当天各提醒一次；逾期当天一次，之后每周一次，最多 8 周，定下来为止。下一封：3月30日（周一）。
      【还有 7 天】自动 3月31日（周二）到期，自动续费
        自动（竹简大模型）还有 7 天到期，4月1日（周三）自动续费。
        取消续费的最后一天是 2月28日（周六），已过。
        查看环境：… 提醒规则：到期前 7、1 天和当天各提醒一次。下一封：3月30日（周一）。
    2026-03-31
      【今天到期】不续，今晚 24 点停止服务，不再续费
        不续（竹简大模型）到期不续，通知截止日是 2月28日（周六），已过 31 天，核对是否已通知服务商。
        这条提醒本应 3月29日（周日）发出，迟发。
        不续（竹简大模型）今天到期，不再续费。
        今天之内保存好数据；还要接着用，先安排好替换的环境。
        查看环境：… 提醒规则：到期前 7、1 天和当天各提醒一次；逾期当天一次，之后每周一次，最多 8 周，登记退租为止。下一封：4月1日（周三）。
      【今天到期】手动，今晚 24 点停止服务
        手动（竹简大模型）的通知截止日是 2月28日（周六），已过 31 天。
        这条提醒本应 3月29日（周日）发出，迟发。
        手动（竹简大模型）今天到期，还没定是否续费。
        去决定：… 提醒规则：到期前 7、1 天和当天各提醒一次；逾期当天一次，之后每周一次，最多 8 周，定下来为止。下一封：4月1日（周三）。
      【今天到期】自动，今晚 24 点自动续费
        自动（竹简大模型）的通知截止日是 2月28日（周六），已过 31 天；4月1日（周三）将自动续费。
        这条提醒本应 3月29日（周日）发出，迟发。
        自动（竹简大模型）今天到期，4月1日（周三）自动续费。
        查看环境：… 提醒规则：到期前 7、1 天和当天各提醒一次；逾期当天一次，之后每周一次，最多 8 周，定下来为止。这是最后一封。
    2026-04-01
      【已到期 1 天】不续 到期不续，还没登记退租
        不续（竹简大模型）已到期 1 天，按约定不续，还没登记退租。
        查看环境：… 提醒规则：到期前 7、1 天和当天各提醒一次；逾期当天一次，之后每周一次，最多 8 周，登记退租为止。下一封：4月8日（周三）。
      【已到期 1 天】手动 还没定是否续费
        手动（竹简大模型）已到期 1 天，还没登记续费或退租。
        去决定：… 提醒规则：到期前 7、1 天和当天各提醒一次；逾期当天一次，之后每周一次，最多 8 周，定下来为止。下一封：4月8日（周三）。
    ");
}

// The same in English.
#[tokio::test]
async fn a_mail_says_what_there_is_to_do_in_english_too() {
    let app = TestApp::behind("https://ledger.palmfan.example").await;
    app.go_to("2026-02-01");
    each_kind(&app, "1 months").await;
    sql(&app, "update organisation set reminder_steps = '{7,1,0}'; update person set locale = 'en'").await;
    let days = ["2026-02-27", "2026-02-28", "2026-03-01", "2026-03-22", "2026-03-24", "2026-03-31", "2026-04-01"];
    insta::assert_snapshot!(letters_of_days(&app, "owner@palmfan.example", &days).await, @r"
    2026-02-27
      [1 day] 不续: tell the provider by Sat 28 Feb 2026 that it ends
        不续 (竹简大模型) is not renewed, and the provider must be told so by Sat 28 Feb 2026; 1 day left.
        The environment:… Rule: One reminder 7 and 1 days before and one on the day; one when overdue, then weekly until its end is recorded, 8 weeks at most. Next: Sat 28 Feb 2026.
      [1 day] 手动: give notice by Sat 28 Feb 2026
        手动 (竹简大模型) needs notice by Sat 28 Feb 2026 if it is not to go on; 1 day left.
        Decide:… Rule: One reminder 7 and 1 days before and one on the day; one when overdue, then weekly until decided, 8 weeks at most. Next: Sat 28 Feb 2026.
      [1 day] 自动: give notice by Sat 28 Feb 2026
        自动 (竹简大模型) renews itself on Wed 1 Apr 2026 unless notice is given by Sat 28 Feb 2026; 1 day left.
        The environment:… Rule: One reminder 7 and 1 days before and one on the day; one when overdue, then weekly until decided, 8 weeks at most. Next: Sat 28 Feb 2026.
    2026-02-28
      [Today] 不续: last day to tell the provider that it ends
        不续 (竹简大模型) is not renewed, and the provider must be told so by Sat 28 Feb 2026; today is the last day.
        The environment:… Rule: One reminder 7 and 1 days before and one on the day; one when overdue, then weekly until its end is recorded, 8 weeks at most. Next: Sun 1 Mar 2026.
      [Today] 手动: last day to give notice
        手动 (竹简大模型) needs notice by Sat 28 Feb 2026 if it is not to go on; today is the last day.
        Decide:… Rule: One reminder 7 and 1 days before and one on the day; one when overdue, then weekly until decided, 8 weeks at most. Next: Sun 1 Mar 2026.
      [Today] 自动: last day to give notice
        自动 (竹简大模型) renews itself on Wed 1 Apr 2026 unless notice is given by Sat 28 Feb 2026; today is the last day.
        The environment:… Rule: One reminder 7 and 1 days before and one on the day; one when overdue, then weekly until decided, 8 weeks at most. Next: Sun 1 Mar 2026.
    2026-03-01
      [1 day ago] 不续: the last day to tell the provider has passed
        不续 (竹简大模型): the last day to tell the provider that it is not renewed was Sat 28 Feb 2026, 1 day ago. Check that it was told.
        The environment:… Rule: One reminder 7 and 1 days before and one on the day; one when overdue, then weekly until its end is recorded, 8 weeks at most. Next: Sun 8 Mar 2026.
      [1 day ago] 手动: the last day to give notice has passed
        手动 (竹简大模型): the last day to give notice was Sat 28 Feb 2026, 1 day ago.
        Decide:… Rule: One reminder 7 and 1 days before and one on the day; one when overdue, then weekly until decided, 8 weeks at most. Next: Sun 8 Mar 2026.
      [1 day ago] 自动: the last day to give notice has passed, it renews itself
        自动 (竹简大模型): the last day to give notice was Sat 28 Feb 2026, 1 day ago; it renews itself on Wed 1 Apr 2026.
        The environment:… Rule: One reminder 7 and 1 days before and one on the day; one when overdue, then weekly until decided, 8 weeks at most. Next: Sun 8 Mar 2026.
    2026-03-22
      [22 days ago] 不续: the last day to tell the provider has passed
        不续 (竹简大模型): the last day to tell the provider that it is not renewed was Sat 28 Feb 2026, 22 days ago. Check that it was told.
        The environment:… Rule: One reminder 7 and 1 days before and one on the day; one when overdue, then weekly until its end is recorded, 8 weeks at most. Next: Sun 29 Mar 2026.
      [22 days ago] 手动: the last day to give notice has passed
        手动 (竹简大模型): the last day to give notice was Sat 28 Feb 2026, 22 days ago.
        Decide:… Rule: One reminder 7 and 1 days before and one on the day; one when overdue, then weekly until decided, 8 weeks at most. Next: Sun 29 Mar 2026.
      [22 days ago] 自动: the last day to give notice has passed, it renews itself
        自动 (竹简大模型): the last day to give notice was Sat 28 Feb 2026, 22 days ago; it renews itself on Wed 1 Apr 2026.
        The environment:… Rule: One reminder 7 and 1 days before and one on the day; one when overdue, then weekly until decided, 8 weeks at most. Next: Sun 29 Mar 2026.
    2026-03-24
      [7 days] 不续 ends Tue 31 Mar 2026 and is not renewed
        不续 (竹简大模型) ends in 7 days and is not renewed.
        Save its data before then; if the work goes on, plan its replacement.
        The environment:… Rule: One reminder 7 and 1 days before and one on the day; one when overdue, then weekly until its end is recorded, 8 weeks at most. Next: Mon 30 Mar 2026.
      [7 days] 手动 ends: decide by Tue 31 Mar 2026
        手动 (竹简大模型) ends in 7 days and nobody has decided yet.
        Decide:… Rule: One reminder 7 and 1 days before and one on the day; one when overdue, then weekly until decided, 8 weeks at most. Next: Mon 30 Mar 2026.
      [7 days] 自动 ends Tue 31 Mar 2026 and renews itself
        自动 (竹简大模型) ends in 7 days and renews itself on Wed 1 Apr 2026.
        The last day to cancel it was Sat 28 Feb 2026.
        The environment:… Rule: One reminder 7 and 1 days before and one on the day. Next: Mon 30 Mar 2026.
    2026-03-31
      [Today] 不续 ends for good at midnight
        不续 (竹简大模型): the last day to tell the provider that it is not renewed was Sat 28 Feb 2026, 31 days ago. Check that it was told.
        This reminder was due on Sun 29 Mar 2026 and comes late.
        不续 (竹简大模型) ends today and is not renewed.
        Save its data today; if the work goes on, plan its replacement.
        The environment:… Rule: One reminder 7 and 1 days before and one on the day; one when overdue, then weekly until its end is recorded, 8 weeks at most. Next: Wed 1 Apr 2026.
      [Today] 手动 ends at midnight
        手动 (竹简大模型): the last day to give notice was Sat 28 Feb 2026, 31 days ago.
        This reminder was due on Sun 29 Mar 2026 and comes late.
        手动 (竹简大模型) ends today and nobody has decided yet.
        Decide:… Rule: One reminder 7 and 1 days before and one on the day; one when overdue, then weekly until decided, 8 weeks at most. Next: Wed 1 Apr 2026.
      [Today] 自动 renews itself at midnight
        自动 (竹简大模型): the last day to give notice was Sat 28 Feb 2026, 31 days ago; it renews itself on Wed 1 Apr 2026.
        This reminder was due on Sun 29 Mar 2026 and comes late.
        自动 (竹简大模型) ends today and renews itself on Wed 1 Apr 2026.
        The environment:… Rule: One reminder 7 and 1 days before and one on the day; one when overdue, then weekly until decided, 8 weeks at most. This is the last one.
    2026-04-01
      [1 day ago] 不续 has ended: record its end
        不续 (竹简大模型) ended 1 day ago and was not to be renewed; its end is not recorded.
        The environment:… Rule: One reminder 7 and 1 days before and one on the day; one when overdue, then weekly until its end is recorded, 8 weeks at most. Next: Wed 8 Apr 2026.
      [1 day ago] 手动 has ended, undecided
        手动 (竹简大模型) ended 1 day ago and nobody has recorded a renewal or its end.
        Decide:… Rule: One reminder 7 and 1 days before and one on the day; one when overdue, then weekly until decided, 8 weeks at most. Next: Wed 8 Apr 2026.
    ");
}

// Without a notice it can be cancelled until its last day.
#[tokio::test]
async fn without_a_notice_a_mail_names_the_last_day_to_cancel() {
    let app = TestApp::behind("https://ledger.palmfan.example").await;
    each_kind(&app, "").await;
    let days = ["2026-03-17", "2026-03-30"];
    let zh = letters_of_days(&app, "owner@palmfan.example", &days).await;
    insta::assert_snapshot!(zh, @r"
    2026-03-17
      【还有 14 天】不续 3月31日（周二）到期不续
        不续（竹简大模型）还有 14 天到期，不再续费。
        到期前保存好数据；还要接着用，先安排好替换的环境。
        查看环境：… 提醒规则：到期前 15、7、3、1 天和当天各提醒一次；逾期当天一次，之后每周一次，最多 8 周，登记退租为止。下一封：3月24日（周二）。
      【还有 14 天】手动 到期，3月31日（周二）前定是否续费
        手动（竹简大模型）还有 14 天到期，还没定是否续费。
        去决定：… 提醒规则：到期前 15、7、3、1 天和当天各提醒一次；逾期当天一次，之后每周一次，最多 8 周，定下来为止。下一封：3月24日（周二）。
      【还有 14 天】自动 3月31日（周二）到期，自动续费
        自动（竹简大模型）还有 14 天到期，4月1日（周三）自动续费。
        不再需要的话，最迟 3月31日（周二）取消续费。
        查看环境：… 提醒规则：到期前 15、7、3、1 天和当天各提醒一次。下一封：3月24日（周二）。
    2026-03-30
      【还有 1 天】不续 3月31日（周二）到期不续
        不续（竹简大模型）明天到期，不再续费。
        到期前保存好数据；还要接着用，先安排好替换的环境。
        查看环境：… 提醒规则：到期前 15、7、3、1 天和当天各提醒一次；逾期当天一次，之后每周一次，最多 8 周，登记退租为止。下一封：3月31日（周二）。
      【还有 1 天】手动 到期，3月31日（周二）前定是否续费
        手动（竹简大模型）明天到期，还没定是否续费。
        去决定：… 提醒规则：到期前 15、7、3、1 天和当天各提醒一次；逾期当天一次，之后每周一次，最多 8 周，定下来为止。下一封：3月31日（周二）。
      【还有 1 天】自动 3月31日（周二）到期，自动续费
        自动（竹简大模型）明天到期，4月1日（周三）自动续费。
        不再需要的话，最迟 3月31日（周二）取消续费。
        查看环境：… 提醒规则：到期前 15、7、3、1 天和当天各提醒一次。下一封：3月31日（周二）。
    ");
    let app = TestApp::behind("https://ledger.palmfan.example").await;
    each_kind(&app, "").await;
    sql(&app, "update person set locale = 'en'").await;
    let en = letters_of_days(&app, "owner@palmfan.example", &days).await;
    insta::assert_snapshot!(en, @r"
    2026-03-17
      [14 days] 不续 ends Tue 31 Mar 2026 and is not renewed
        不续 (竹简大模型) ends in 14 days and is not renewed.
        Save its data before then; if the work goes on, plan its replacement.
        The environment:… Rule: One reminder 15, 7, 3 and 1 days before and one on the day; one when overdue, then weekly until its end is recorded, 8 weeks at most. Next: Tue 24 Mar 2026.
      [14 days] 手动 ends: decide by Tue 31 Mar 2026
        手动 (竹简大模型) ends in 14 days and nobody has decided yet.
        Decide:… Rule: One reminder 15, 7, 3 and 1 days before and one on the day; one when overdue, then weekly until decided, 8 weeks at most. Next: Tue 24 Mar 2026.
      [14 days] 自动 ends Tue 31 Mar 2026 and renews itself
        自动 (竹简大模型) ends in 14 days and renews itself on Wed 1 Apr 2026.
        If it is not wanted any more, cancel it by Tue 31 Mar 2026.
        The environment:… Rule: One reminder 15, 7, 3 and 1 days before and one on the day. Next: Tue 24 Mar 2026.
    2026-03-30
      [1 day] 不续 ends Tue 31 Mar 2026 and is not renewed
        不续 (竹简大模型) ends in 1 day and is not renewed.
        Save its data before then; if the work goes on, plan its replacement.
        The environment:… Rule: One reminder 15, 7, 3 and 1 days before and one on the day; one when overdue, then weekly until its end is recorded, 8 weeks at most. Next: Tue 31 Mar 2026.
      [1 day] 手动 ends: decide by Tue 31 Mar 2026
        手动 (竹简大模型) ends in 1 day and nobody has decided yet.
        Decide:… Rule: One reminder 15, 7, 3 and 1 days before and one on the day; one when overdue, then weekly until decided, 8 weeks at most. Next: Tue 31 Mar 2026.
      [1 day] 自动 ends Tue 31 Mar 2026 and renews itself
        自动 (竹简大模型) ends in 1 day and renews itself on Wed 1 Apr 2026.
        If it is not wanted any more, cancel it by Tue 31 Mar 2026.
        The environment:… Rule: One reminder 15, 7, 3 and 1 days before and one on the day. Next: Tue 31 Mar 2026.
    ");
}

// Whoever is told because somebody else's mail came back is not told that it is late.
#[tokio::test]
async fn a_mail_about_a_bounced_one_is_not_called_late() {
    let sink = SmtpSink::start().await;
    let app = TestApp::with_mailer("2026-03-16T02:00:00Z", mailer_to(&sink.url())).await;
    app.add_user("admin@palmfan.example", Role::Administrator).await;
    app.open_environment("竹简-预训练", "2025-04-01", Some("2026-03-31")).await;
    sink.behave(Fault::code(At::Rcpt, 550).for_recipient("owner@palmfan.example"));
    sink.behave(Fault::code(At::Rcpt, 451).for_recipient("admin@palmfan.example"));
    app.remind().await;
    app.go_to("2026-03-17");
    let good = SmtpSink::start().await;
    remind(&app.another(mailer_to(&good.url()), None).await, None).await;
    let told = good.messages().pop().unwrap();
    assert_eq!(told.subject(), "【没人处理】竹简-预训练 还有 14 天到期，陈白露 的邮箱退信");
    assert!(!told.text.contains("迟发"), "{}", told.text);
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
