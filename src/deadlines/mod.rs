//! Reminders: planned, delivered, recorded.
//!
//! Every minute a [`round`] runs: it plans the [`reminder`] rows that should exist (the rules are in [`plan`]), groups the due
//! ones of one person and one environment into a [`delivery`], and sends it as a mail ([`reminder_mail`]). What the server
//! said is kept for every try. What ends when, and whether the mails went out, is on this context's pages.

pub mod attempt; // what came of every try, and what follows from it
pub mod claim; // the lease: what one worker holds alone, to send it
pub mod delivery; // one try chain to one person about one environment
pub mod delivery_list; // which mails went out, for pages
pub mod due; // what ends when, for pages
pub mod foresight; // which reminders a date would bring, before it is set
pub mod outbox; // what lies in the folder while no mail server is set up
pub mod pages;
pub mod plan; // which reminders exist, and which one is sent now: pure
pub mod post; // claims, writes, sends and books, all at once
pub mod reminder; // one message due to one person
pub mod reminder_mail; // what a reminder says
pub mod round; // one round of the job
