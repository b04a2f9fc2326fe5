//! How an event of the conversation becomes an [`Outcome`]: the one place that decides what is safe to repeat.
//!
//! | event | outcome |
//! |---|---|
//! | anything before the final dot is written; 4xx anywhere | retry |
//! | 5xx to the sender, the recipient or the message | bounced |
//! | 5xx to the sign-in, a failed handshake, a mode that does not fit | configuration |
//! | the dot is written, then no reply or one that is neither yes nor no | ambiguous |
//! | 2xx after the dot | sent |

use super::reply::{Fault, Reply};
use super::server::{Mode, SmtpSettings};
use super::{Outcome, Phase};
use crate::locale::Message;

impl SmtpSettings {
    /// A message about the server and the mode that is set.
    pub(super) fn say(&self, key: &'static str) -> Message {
        Message::new(key).with("server", self.config.server()).with("mode", self.config.mode().scheme())
    }

    /// The same, with the mode that would fit.
    pub(super) fn say_fit(&self, key: &'static str, fit: Mode) -> Message {
        self.say(key).with("fit", fit.scheme())
    }

    /// The dot was written, and the server did not say clearly what became of the message.
    pub(super) fn ambiguous(&self, reply: Option<Reply>) -> Outcome {
        Outcome::Ambiguous {
            phase: Phase::Body,
            reply: reply.map(|reply| reply.shown()),
            message: self.say("mail-ambiguous"),
        }
    }

    /// A reply about a message that is not the one that was wanted.
    pub(super) fn refused(&self, phase: Phase, reply: Reply) -> Outcome {
        if reply.class() != 5 {
            return self.not_now(phase, reply);
        }
        let message = self.say("mail-bounced").with("reply", reply.shown());
        Outcome::Bounced { phase, reply: Some(reply.shown()), message }
    }

    /// A reply that may be another one later.
    pub(super) fn not_now(&self, phase: Phase, reply: Reply) -> Outcome {
        let message = match reply.class() {
            4 | 5 => self.say("mail-not-now").with("reply", reply.shown()),
            _ => self.say("mail-garbled").with("phase", phase.message()),
        };
        retry(phase, Some(reply), message)
    }

    /// No reply at all, before the dot was written.
    pub(super) fn faulted(&self, phase: Phase, fault: Fault) -> Outcome {
        let message = match fault {
            Fault::Timeout => self.say("mail-timeout"),
            Fault::Closed => self.say("mail-closed"),
            Fault::Garbled => self.say("mail-garbled"),
            Fault::Network(error) => self.say("mail-network").with("reason", error.to_string()),
            Fault::Unasked(reply) => return self.not_now(phase, reply),
        };
        retry(phase, None, message.with("phase", phase.message()))
    }
}

/// Another try may succeed.
pub(super) fn retry(phase: Phase, reply: Option<Reply>, message: Message) -> Outcome {
    Outcome::Retry { phase, reply: reply.map(|reply| reply.shown()), message }
}

/// Somebody has to change a setting.
pub(super) fn misconfigured(phase: Phase, reply: Option<Reply>, message: Message) -> Outcome {
    Outcome::Configuration { phase, reply: reply.map(|reply| reply.shown()), message }
}
