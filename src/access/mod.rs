//! Who takes part: persons named in the ledger, their log-ins and sessions, projects and who works on them.
//!
//! A **person** is somebody named in the ledger. A **user** is a person's log-in: a role and a password. The first one is
//! made through the one-time link that `rentroll serve` prints while there is none (`set_up`); there is no default account.
//! Others are invited by an administrator (`invitation`) and choose their password through a link that works once. Signing in
//! makes a **session**; the rights behind it are read from the database at every request (`web::session`), so what is taken
//! away is gone at once. A **membership** is a user's right in one project.

pub mod device; // a browser in which a person has signed in before
pub mod forgotten; // a new link for whoever forgot the password
pub mod invitation; // a log-in for somebody, and the link with which they choose their password
pub mod letter; // the mails of this context
pub mod membership; // a user's right in one project
pub mod one_time_link; // a link that works once
pub mod pages; // sign-in, set-up, account, settings, people, projects
pub mod password; // which passwords may be chosen
pub mod people; // the list of people with their log-ins, as a page and as files
pub mod person; // somebody named in the ledger
pub mod project; // what is rented for, and the border of everybody's rights
pub mod session; // a browser that is signed in
pub mod set_up; // the first administrator
pub mod sign_in; // signing in and out
pub mod sign_in_failure; // failed sign-ins, counted
pub mod sweep; // clears away what has had its time
pub mod token; // a secret of which only the hash is kept
pub mod user; // a person's log-in
