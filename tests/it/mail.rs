//! Messages out over real SMTP conversations, with a server that does what it should and one that does not.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

use std::time::{Duration, Instant};

use chrono::{TimeZone, Utc};
use rentroll::locale::{Locale, Message};
use rentroll::mail::{Conversation, Deadlines, Mailbox, Mailer, Mode, Outcome, Outgoing, Phase, SmtpSettings};
use tokio::net::TcpListener;

use crate::harness::smtp_sink::{At, Certificate, Fault, SmtpSink, Tls};

/// Long enough for a loaded machine to answer in, short enough to wait for.
const SHORT: Duration = Duration::from_secs(2);
/// By when a worker must be free again after a deadline of [`SHORT`].
const FREE_AGAIN: Duration = Duration::from_secs(14);

fn from() -> Mailbox {
    "算力台账 <ledger@example.com>".parse().unwrap()
}

fn outgoing(id: &str, to: &str) -> Outgoing {
    Outgoing {
        to: to.parse().unwrap(),
        subject: "质检-标注 还有 13 天到期".to_owned(),
        text: "环境：质检-标注\n最后一天：2026-03-31\n还有 13 天\n.\n".to_owned(),
        html: "<p>环境：质检-标注<br>最后一天：2026-03-31<br>还有 13 天</p>".to_owned(),
        message_id: format!("{id}@example.com"),
        date: Utc.with_ymd_and_hms(2026, 3, 18, 1, 2, 3).unwrap(),
        list_id: None,
    }
}

fn settings_by(sink: &SmtpSink, url: &str) -> SmtpSettings {
    SmtpSettings::new(url.parse().unwrap(), from(), sink.ca_file()).unwrap()
}

fn settings(sink: &SmtpSink) -> SmtpSettings {
    settings_by(sink, &sink.url())
}

fn mailer(sink: &SmtpSink) -> Mailer {
    Mailer::Smtp(settings(sink))
}

async fn open(sink: &SmtpSink) -> Conversation {
    match mailer(sink).open().await {
        Ok(conversation) => conversation,
        Err(outcome) => panic!("no conversation: {outcome:?}"),
    }
}

fn sent(outcome: &Outcome) -> bool {
    matches!(outcome, Outcome::Sent { .. })
}

/// The words of an outcome that says which setting is wrong.
fn configuration(outcome: &Outcome) -> String {
    match outcome {
        Outcome::Configuration { message, .. } => message.to_string(),
        other => panic!("expected a fault of the settings, not {other:?}"),
    }
}

// cases E06, E09, E10, E14
#[tokio::test]
async fn a_message_arrives_as_text_and_html_with_chinese_names() {
    let sink = SmtpSink::start().await;
    let mailer = mailer(&sink);
    assert_eq!(mailer.domain(), "example.com");
    let message = Outgoing {
        list_id: Some("语音 <voice.example.com>".to_owned()),
        ..outgoing("0190c5", "李伟 <li@example.com>")
    };
    let outcome = mailer.send(&message).await;
    assert_eq!(outcome, Outcome::Sent { reply: "250 2.0.0 queued as 4F1".to_owned() });

    let [received] = &sink.messages()[..] else { panic!("one message") };
    assert_eq!(received.mail_from, "ledger@example.com");
    assert_eq!(received.rcpt_to, ["li@example.com"]);
    assert_eq!(received.header("From"), Some("算力台账 <ledger@example.com>"));
    assert_eq!(received.header("To"), Some("李伟 <li@example.com>"));
    assert_eq!(received.subject(), "质检-标注 还有 13 天到期");
    assert_eq!(received.message_id(), "<0190c5@example.com>");
    assert_eq!(received.header("Date"), Some("Wed, 18 Mar 2026 01:02:03 +0000"));
    assert_eq!(received.header("Auto-Submitted"), Some("auto-generated"));
    assert_eq!(received.header("X-Auto-Response-Suppress"), Some("All"));
    assert_eq!(received.header("List-Id"), Some("语音 <voice.example.com>"));
    assert!(received.header("Content-Type").unwrap().starts_with("multipart/alternative"));
    assert_eq!(received.parts, ["text/plain", "text/html"]);
    assert_eq!(received.text.replace("\r\n", "\n"), message.text);
    assert!(!received.text.contains('<'));
    assert_eq!(received.html, message.html);
    assert!(received.raw.is_ascii());
}

// case E06
#[tokio::test]
async fn a_name_with_comma_and_quotes_survives() {
    let sink = SmtpSink::start().await;
    for (name, header) in [
        ("Li, Wei", "Li, Wei <li@example.com>"),
        (r#"Li, "Wei" (李伟) <a@b>"#, r#"Li, "Wei" (李伟) <a@b> <li@example.com>"#),
    ] {
        let to = Mailbox::new(name, "li@example.com").unwrap();
        assert!(sent(&mailer(&sink).send(&Outgoing { to, ..outgoing("a", "li@example.com") }).await));
        let received = sink.messages().pop().unwrap();
        assert_eq!(received.header("To"), Some(header));
        // Encoded: a bare comma would make two recipients of it.
        assert!(received.raw.contains("\r\nTo: =?utf-8?"), "{}", received.raw);
    }
}

// case E07
#[tokio::test]
async fn a_line_break_in_a_name_or_subject_is_no_header() {
    let sink = SmtpSink::start().await;
    let message = Outgoing {
        to: Mailbox::new("Li\r\nBcc: x@evil.example", "li@example.com").unwrap(),
        subject: "a\r\nBcc: x@evil.example\0".to_owned(),
        list_id: Some("a\nBcc: x@evil.example".to_owned()),
        ..outgoing("a>\r\nBcc: x@evil.example", "li@example.com")
    };
    assert!(sent(&mailer(&sink).send(&message).await));
    let [received] = &sink.messages()[..] else { panic!("one message") };
    assert_eq!(received.header("Bcc"), None);
    assert_eq!(received.subject(), "a  Bcc: x@evil.example");
    assert_eq!(received.rcpt_to, ["li@example.com"]);
}

// case E01
#[tokio::test]
async fn each_of_the_three_modes_sends() {
    for tls in [Tls::None, Tls::Start, Tls::StartRequired, Tls::Implicit] {
        let mut sink = SmtpSink::start().await.with_auth("gpu", "p@ss");
        if tls != Tls::None {
            sink = sink.with_tls(tls);
        }
        let url = sink.url().replace("p@ss", "p%40ss");
        let outcome = Mailer::Smtp(settings_by(&sink, &url)).send(&outgoing("a", "li@example.com")).await;
        assert!(sent(&outcome), "{tls:?}: {outcome:?}");
        let received = &sink.messages()[0];
        assert_eq!((received.encrypted, received.user.as_deref()), (tls != Tls::None, Some("gpu")), "{tls:?}");
    }
}

// case E01
#[tokio::test]
async fn a_mode_that_does_not_fit_names_the_one_that_would() {
    let auth = |sink: SmtpSink| sink.with_auth("gpu", "verysecret");
    let plain = || async { SmtpSink::start().await };
    for (sink, mode, fit) in [
        (plain().await, Mode::StartTls, "smtp://"),
        (plain().await, Mode::Tls, "smtp://"),
        (plain().await.with_tls(Tls::Start), Mode::Tls, "smtp+starttls://"),
        (auth(plain().await).with_tls(Tls::StartRequired), Mode::Tls, "smtp+starttls://"),
        (plain().await.with_tls(Tls::StartRequired), Mode::Plain, "smtp+starttls://"),
        (plain().await.with_tls(Tls::Implicit), Mode::Plain, "smtps://"),
        (plain().await.with_tls(Tls::Implicit), Mode::StartTls, "smtps://"),
    ] {
        let mut settings = settings_by(&sink, &sink.url_by(mode.scheme()));
        settings.deadlines.connect = Duration::from_secs(3);
        let words = configuration(&Mailer::Smtp(settings).send(&outgoing("a", "li@example.com")).await);
        assert!(words.contains(mode.scheme()), "{words}");
        assert!(words.contains(&format!("{fit} would fit")), "{mode:?}, expected {fit}: {words}");
        assert!(!words.contains("verysecret"), "{words}");
        assert!(sink.messages().is_empty(), "nothing is sent in a mode that was not asked for");
    }
}

// case E03
#[tokio::test]
async fn without_encryption_starttls_is_not_used_even_if_offered() {
    let sink = SmtpSink::start().await.with_tls(Tls::Start);
    let settings = settings_by(&sink, &sink.url_by("smtp://"));
    assert!(sent(&Mailer::Smtp(settings).send(&outgoing("a", "li@example.com")).await));
    assert!(!sink.messages()[0].encrypted);
    assert!(sink.commands().iter().all(|command| command != "STARTTLS"), "{:?}", sink.commands());
}

// case E04
#[tokio::test]
async fn a_certificate_must_be_good_and_of_a_known_authority() {
    for tls in [Tls::Start, Tls::Implicit] {
        for (certificate, known, expected) in [
            (Certificate::Good, true, None),
            (Certificate::Good, false, Some("RENTROLL_EXTRA_CA_FILE")),
            (Certificate::OtherName, true, Some("not for the name 127.0.0.1")),
            (Certificate::Expired, true, Some("has expired")),
        ] {
            let sink = SmtpSink::start().await.with_certificate(tls, certificate);
            let ca = sink.ca_file().filter(|_| known);
            let settings = SmtpSettings::new(sink.url().parse().unwrap(), from(), ca).unwrap();
            let outcome = Mailer::Smtp(settings).send(&outgoing("a", "li@example.com")).await;
            match expected {
                None => assert!(sent(&outcome), "{outcome:?}"),
                Some(words) => {
                    assert!(configuration(&outcome).contains(words), "{outcome:?}");
                    assert_eq!(outcome.phase(), Phase::Tls);
                    assert!(sink.commands().iter().all(|command| !command.starts_with("MAIL")), "no downgrade");
                }
            }
        }
    }
}

#[tokio::test]
async fn a_sign_in_is_by_plain_or_login_and_a_refusal_is_a_fault_of_the_settings() {
    for mechanisms in ["PLAIN LOGIN", "LOGIN", "CRAM-MD5 PLAIN"] {
        let sink = SmtpSink::start().await.with_auth_by(mechanisms, "gpu", "verysecret").with_tls(Tls::Start);
        assert!(sent(&mailer(&sink).send(&outgoing("a", "li@example.com")).await), "{mechanisms}");
        assert_eq!(sink.messages()[0].user.as_deref(), Some("gpu"));

        let wrong = sink.url().replace("verysecret", "othersecret");
        let outcome = Mailer::Smtp(settings_by(&sink, &wrong)).send(&outgoing("b", "li@example.com")).await;
        let words = configuration(&outcome);
        assert!(mechanisms.contains("CRAM") || words.contains("gpu"), "{words}");
        assert_eq!((outcome.phase(), outcome.reply()), (Phase::Auth, Some("535 5.7.8 wrong user or password")));
        assert!(!format!("{outcome:?}").contains("othersecret"));
    }
    let sink = SmtpSink::start().await.with_auth_by("CRAM-MD5", "gpu", "verysecret");
    let outcome = mailer(&sink).send(&outgoing("a", "li@example.com")).await;
    assert!(configuration(&outcome).contains("AUTH PLAIN or LOGIN"), "{outcome:?}");

    let sink = SmtpSink::start().await.with_auth("gpu", "verysecret");
    let anonymous = sink.url().replace("gpu:verysecret@", "");
    let outcome = Mailer::Smtp(settings_by(&sink, &anonymous)).send(&outgoing("a", "li@example.com")).await;
    assert!(configuration(&outcome).contains("wants a sign-in"), "{outcome:?}");
}

/// What must become of a delivery that meets a fault.
fn expected(fault: &Fault) -> (&'static [&'static str], Option<Phase>) {
    let phase = |at: &At| match at {
        At::Greeting => Phase::Greeting,
        At::Hello => Phase::Hello,
        At::StartTls => Phase::Tls,
        At::Auth => Phase::Auth,
        At::Mail => Phase::Mail,
        At::Rcpt => Phase::Rcpt,
        At::Data => Phase::Data,
        At::Body | At::Dot => Phase::Body,
    };
    match fault {
        Fault::Echo => (&["sent"], None),
        Fault::TlsFailure => (&["configuration"], Some(Phase::Tls)),
        // A short message may already be on its way, dot and all, when the server hangs up or stops to read.
        Fault::Repeat354 | Fault::Stall(At::Body) => (&["ambiguous"], Some(Phase::Body)),
        Fault::Drop(At::Body) => (&["ambiguous", "retry"], Some(Phase::Body)),
        // The second reply is met by the next command.
        Fault::Twice(_) => (&["retry"], None),
        Fault::Stall(at) | Fault::Drop(at) | Fault::Garbage(at) | Fault::LongReply(at) => {
            (if *at == At::Dot { &["ambiguous"] } else { &["retry"] }, Some(phase(at)))
        }
        Fault::Code { at, code: 500.., .. } => match at {
            At::StartTls | At::Auth => (&["configuration"], Some(phase(at))),
            At::Greeting | At::Hello => (&["retry"], Some(phase(at))),
            _ => (&["bounced"], Some(phase(at))),
        },
        Fault::Code { at, .. } => (&["retry"], Some(phase(at))),
    }
}

/// One delivery that meets the fault, and the next one over the same mailer, which must not notice.
async fn meet(fault: Fault) {
    let sink = SmtpSink::start().await.with_auth("gpu", "pw").with_tls(Tls::Start);
    sink.script([Some(fault.clone()), None]);
    let mut settings = settings(&sink);
    match fault {
        Fault::Stall(At::Greeting) => settings.deadlines.connect = SHORT,
        Fault::Stall(At::Hello | At::StartTls | At::Auth) => settings.deadlines.hello = SHORT,
        Fault::Stall(At::Mail | At::Rcpt | At::Data) => settings.deadlines.command = SHORT,
        Fault::Stall(At::Body | At::Dot) => settings.deadlines.body = SHORT,
        _ => {}
    }
    let mailer = Mailer::Smtp(settings);
    let begun = Instant::now();
    let outcome = mailer.send(&outgoing("first", "li@example.com")).await;
    assert!(begun.elapsed() < FREE_AGAIN, "{fault:?} held the worker for {:?}", begun.elapsed());
    let (classes, phase) = expected(&fault);
    assert!(classes.contains(&outcome.class()), "{fault:?}: expected {classes:?}, got {outcome:?}");
    assert!(phase.is_none_or(|phase| phase == outcome.phase()), "{fault:?}: {outcome:?}");
    assert!(outcome.reply().is_none_or(|reply| reply.chars().count() <= 500 && !reply.contains(char::is_control)));
    for locale in Locale::ALL {
        let words = locale.say(outcome.message().unwrap());
        assert!(!words.contains('{') && !words.starts_with("mail-"), "{words}");
    }

    let arrived = sink.messages().len();
    let next = mailer.send(&outgoing("second", "wang@example.com")).await;
    assert!(sent(&next), "after {fault:?}: {next:?}");
    assert_eq!(sink.messages().len(), arrived + 1);
    assert_eq!(sink.messages().last().unwrap().message_id(), "<second@example.com>");
}

async fn meet_all(faults: impl IntoIterator<Item = Fault>) {
    let mut meetings = tokio::task::JoinSet::new();
    for fault in faults {
        meetings.spawn(meet(fault));
    }
    while let Some(met) = meetings.join_next().await {
        met.unwrap();
    }
}

const EVERYWHERE: [At; 8] = [At::Greeting, At::Hello, At::StartTls, At::Auth, At::Mail, At::Rcpt, At::Data, At::Dot];

// case C14
#[tokio::test]
async fn a_server_that_stalls_frees_the_worker_in_time() {
    meet_all(EVERYWHERE.into_iter().chain([At::Body]).map(Fault::Stall)).await;
}

// case C14
#[tokio::test]
async fn a_server_that_hangs_up_is_classified_by_the_final_dot() {
    meet_all(EVERYWHERE.into_iter().chain([At::Body]).map(Fault::Drop)).await;
}

// case C14
#[tokio::test]
async fn garbage_and_endless_replies_are_never_taken_for_a_yes() {
    meet_all(EVERYWHERE.map(Fault::Garbage)).await;
    meet_all(EVERYWHERE.map(Fault::LongReply)).await;
    meet_all([Fault::Repeat354, Fault::TlsFailure]).await;
}

// case C14, and decision D1: one reply too many must not make a receipt of the next one
#[tokio::test]
async fn a_reply_too_many_ends_the_conversation() {
    meet_all([At::Greeting, At::Hello, At::StartTls, At::Auth, At::Mail, At::Rcpt, At::Data].map(Fault::Twice)).await;
}

// case C15
#[tokio::test]
async fn codes_for_now_and_for_good_are_told_apart() {
    let mut faults = Vec::new();
    for at in EVERYWHERE {
        for code in [421, 450, 451, 452, 550, 554] {
            faults.push(Fault::code(at, code));
        }
    }
    meet_all(faults).await;
}

// case C14: what was not written to its end can be sent again without a second copy
#[tokio::test]
async fn a_message_cut_short_is_safe_to_send_again() {
    let long = Outgoing { text: "算".repeat(4_000_000), ..outgoing("long", "li@example.com") };
    for fault in [Fault::Drop(At::Body), Fault::Stall(At::Body)] {
        let sink = SmtpSink::start().await;
        sink.script([Some(fault)]);
        let mut settings = settings(&sink);
        settings.deadlines.body = Duration::from_secs(2);
        let outcome = Mailer::Smtp(settings).send(&long).await;
        assert_eq!((outcome.class(), outcome.phase()), ("retry", Phase::Body), "{outcome:?}");
        assert!(sink.messages().is_empty());
    }
}

// case C14: as measured for decision D1
#[tokio::test]
async fn a_yes_that_comes_too_late_is_not_taken_for_the_next_message() {
    let sink = SmtpSink::start().await;
    sink.script([Some(Fault::Stall(At::Dot)), Some(Fault::code(At::Dot, 554))]);
    let mut settings = settings(&sink);
    settings.deadlines.body = SHORT;
    let mailer = Mailer::Smtp(settings);
    assert_eq!(mailer.send(&outgoing("a", "li@example.com")).await.class(), "ambiguous");
    let outcome = mailer.send(&outgoing("b", "wang@example.com")).await;
    assert_eq!((outcome.class(), outcome.reply()), ("bounced", Some("554 scripted")));
}

// case C15: one bad address of three
#[tokio::test]
async fn in_a_batch_a_bounced_recipient_does_not_stop_the_others() {
    let sink = SmtpSink::start().await;
    sink.behave(Fault::code(At::Rcpt, 550).for_recipient("gone@example.com"));
    let mut conversation = open(&sink).await;
    let mut classes = Vec::new();
    for (id, to) in [("a", "li@example.com"), ("b", "gone@example.com"), ("c", "wang@example.com")] {
        classes.push(conversation.send(&outgoing(id, to)).await.class());
        assert!(conversation.is_alive());
    }
    conversation.quit().await;
    assert_eq!(classes, ["sent", "bounced", "sent"]);
    assert_eq!(sink.connections(), 1);
    let recipients: Vec<_> = sink.messages().into_iter().flat_map(|message| message.rcpt_to).collect();
    assert_eq!(recipients, ["li@example.com", "wang@example.com"]);
}

#[tokio::test]
async fn a_conversation_is_over_after_anything_unclear() {
    let sink = SmtpSink::start().await;
    sink.behave(Fault::code(At::Rcpt, 450).for_recipient("busy@example.com"));
    let mut conversation = open(&sink).await;
    assert_eq!(conversation.send(&outgoing("a", "busy@example.com")).await.class(), "retry");
    assert!(!conversation.is_alive());
    let outcome = conversation.send(&outgoing("b", "li@example.com")).await;
    assert_eq!((outcome.class(), outcome.phase()), ("retry", Phase::Connect));
    assert!(sink.messages().is_empty());
}

// decision D1: a caller that gives up half-way must not leave a line that the next message is sent over
#[tokio::test]
async fn a_send_that_was_given_up_ends_the_conversation() {
    let sink = SmtpSink::start().await;
    sink.behave(Fault::Stall(At::Dot));
    let mut conversation = open(&sink).await;
    let message = outgoing("a", "li@example.com");
    assert!(tokio::time::timeout(SHORT, conversation.send(&message)).await.is_err());
    assert!(!conversation.is_alive());
    assert_eq!(conversation.send(&outgoing("b", "li@example.com")).await.class(), "retry");
}

// case E13, with the deadlines that people get
#[tokio::test]
async fn a_host_that_accepts_and_stays_silent_is_given_up_within_15_seconds() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let silent = tokio::spawn(async move {
        let mut open = Vec::new();
        while let Ok((stream, _)) = listener.accept().await {
            open.push(stream);
        }
    });
    let try_by = |mode: Mode| async move {
        let url = format!("{}{address}", mode.scheme());
        let mailer = Mailer::Smtp(SmtpSettings::new(url.parse().unwrap(), from(), None).unwrap());
        let begun = Instant::now();
        let outcome = mailer.send(&outgoing("a", "li@example.com")).await;
        (outcome, begun.elapsed())
    };
    // Meanwhile another server is served.
    let sink = SmtpSink::start().await;
    let healthy = mailer(&sink);
    let message = outgoing("b", "wang@example.com");
    let (plain, starttls, implicit, other) = tokio::join!(
        try_by(Mode::Plain),
        try_by(Mode::StartTls),
        try_by(Mode::Tls),
        tokio::time::timeout(FREE_AGAIN, healthy.send(&message)),
    );
    for (outcome, took) in [plain, starttls, implicit] {
        assert_eq!(outcome.class(), "retry", "{outcome:?}");
        assert!(took < Duration::from_secs(15), "{took:?}");
    }
    assert!(sent(&other.unwrap()));
    silent.abort();
}

#[tokio::test]
async fn a_server_that_is_not_there_is_tried_again() {
    let address = TcpListener::bind("127.0.0.1:0").await.unwrap().local_addr().unwrap();
    for url in [format!("smtp://{address}"), "smtp://mail.invalid".to_owned()] {
        let mailer = Mailer::Smtp(SmtpSettings::new(url.parse().unwrap(), from(), None).unwrap());
        let outcome = mailer.send(&outgoing("a", "li@example.com")).await;
        assert_eq!((outcome.class(), outcome.phase()), ("retry", Phase::Connect), "{outcome:?}");
    }
}

// trap 4 of the measurements: without TCP_NODELAY these take nine seconds
#[tokio::test]
async fn two_hundred_messages_over_one_conversation_do_not_wait_for_acknowledgements() {
    let sink = SmtpSink::start().await;
    let mut conversation = open(&sink).await;
    let begun = Instant::now();
    for number in 0..200 {
        assert!(sent(&conversation.send(&outgoing(&number.to_string(), "li@example.com")).await));
    }
    let took = begun.elapsed();
    conversation.quit().await;
    assert_eq!(sink.messages().len(), 200);
    assert!(took < Duration::from_secs(5), "{took:?}");
}

#[test]
fn a_delivery_fits_into_its_lease_of_five_minutes() {
    let Deadlines { connect, hello, command, body } = Deadlines::default();
    assert!(connect + hello + 3 * command + body < Duration::from_mins(5));
}

#[test]
fn the_words_are_there_in_both_languages() {
    for phase in [Phase::Connect, Phase::Greeting, Phase::Hello, Phase::Tls, Phase::Auth, Phase::Mail, Phase::Rcpt] {
        let message = Message::new("mail-timeout").with("server", "mail.example.com:25").with("phase", phase.message());
        for locale in Locale::ALL {
            let words = locale.say(&message);
            assert!(words.contains("mail.example.com:25") && !words.contains("mail-"), "{words}");
        }
    }
}
