//! One version of a file that is attached to something: a contract's paper, an invoice, what proves an output.
//!
//! The bytes lie in the object store under their hash ([`crate::documents`]); a row only names them, and never changes. What is uploaded
//! again is the next version. What was attached by mistake is voided, with a reason, and stays readable.

pub mod file_type;

use chrono::{DateTime, Utc};
use serde::Serialize;
use sqlx::PgConnection;

use crate::actor::Permission;
use crate::audit::{Change, Object};
use crate::error::{Error, Result};
use crate::ids::{ContractId, DocumentId, EnvironmentId, OutputId, ProjectId, ProviderId};
use crate::limits;
use crate::locale::Message;
use crate::text::{Line, Name, excerpt};
use crate::tx::Tx;

/// What a document can be attached to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Holder {
    /// A provider.
    Provider(ProviderId),
    /// A contract with a provider.
    Contract(ContractId),
    /// An environment.
    Environment(EnvironmentId),
    /// An entry of output.
    Output(OutputId),
}

impl Holder {
    /// Its id in the column of its kind: provider, contract, environment, output.
    const fn columns(self) -> [Option<i64>; 4] {
        match self {
            Self::Provider(id) => [Some(id.0), None, None, None],
            Self::Contract(id) => [None, Some(id.0), None, None],
            Self::Environment(id) => [None, None, Some(id.0), None],
            Self::Output(id) => [None, None, None, Some(id.0)],
        }
    }

    /// The address of its page.
    pub fn path(self) -> String {
        match self {
            Self::Provider(id) => format!("/providers/{id}"),
            Self::Contract(id) => format!("/contracts/{id}"),
            Self::Environment(id) => format!("/environments/{id}"),
            Self::Output(id) => format!("/ledger/outputs/{id}"),
        }
    }
}

/// The thing that holds documents, as its own context knows it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Place {
    /// Which.
    pub holder: Holder,
    /// What it is called.
    pub name: String,
    /// Its project; nothing in the catalogue.
    pub project: Option<ProjectId>,
}

impl Place {
    /// What somebody must be allowed to attach and to void here.
    pub const fn permission(&self) -> Permission {
        if self.project.is_some() { Permission::Operate } else { Permission::Catalogue }
    }
}

/// One version of an attached file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Document {
    /// Its id.
    pub id: DocumentId,
    /// The project of what holds it.
    pub project_id: Option<ProjectId>,
    /// The provider that holds it.
    pub provider_id: Option<ProviderId>,
    /// The contract that holds it.
    pub contract_id: Option<ContractId>,
    /// The environment that holds it.
    pub environment_id: Option<EnvironmentId>,
    /// The entry of output that holds it.
    pub output_id: Option<OutputId>,
    /// The first of its versions; nothing for that one itself.
    pub first_id: Option<DocumentId>,
    /// Which version, from one.
    pub number: i32,
    /// The file's name.
    pub name: Name,
    /// What it is, from its bytes.
    pub media_type: String,
    /// How many bytes.
    pub size: i64,
    /// The name of its bytes.
    #[serde(serialize_with = "in_hex")]
    pub sha256: Vec<u8>,
    /// What else there is to know.
    pub note: Line,
    /// Who attached it, by the name of that time.
    pub added_by: String,
    /// When.
    pub added_at: DateTime<Utc>,
    /// Why it was voided, where it was.
    #[serde(skip)]
    pub voided_because: Option<String>,
}

fn in_hex<S: serde::Serializer>(bytes: &[u8], serializer: S) -> std::result::Result<S::Ok, S::Error> {
    serializer.serialize_str(&hex::encode(bytes))
}

impl Document {
    /// What it is attached to.
    ///
    /// # Errors
    /// A row that no constraint would let in.
    pub fn holder(&self) -> Result<Holder> {
        let holder = self.provider_id.map(Holder::Provider).or(self.contract_id.map(Holder::Contract));
        let holder = holder.or(self.environment_id.map(Holder::Environment)).or(self.output_id.map(Holder::Output));
        holder.ok_or_else(|| Error::internal("a document is attached to nothing"))
    }

    /// All versions of one document have this in common.
    pub fn series(&self) -> DocumentId {
        self.first_id.unwrap_or(self.id)
    }

    /// Whether it counts.
    pub const fn is_open(&self) -> bool {
        self.voided_because.is_none()
    }

    /// How large, for people.
    pub fn shown_size(&self) -> String {
        match self.size {
            size if size < 1024 => format!("{size} B"),
            size if size < 1024 * 1024 => format!("{} KiB", (size + 512) / 1024),
            size => {
                let tenths = (size * 10 + 512 * 1024) / (1024 * 1024);
                format!("{}.{} MiB", tenths / 10, tenths % 10)
            }
        }
    }
}

/// An act as the history tells of it: with the name of what holds the document.
fn change(action: &'static str, document: &Document, place: &Place) -> Result<Change> {
    let object = Object {
        kind: "document",
        id: Some(document.id.0),
        name: document.name.to_string(),
        project: document.project_id,
        shared: document.project_id.is_none(),
    };
    let mut after = serde_json::to_value(document)?;
    after["holder"] = place.name.as_str().into();
    Ok(Change { action, object, before: None, after })
}

/// A file that is to be attached, and whose bytes are in the store.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewDocument {
    /// See [`Document::name`].
    pub name: Name,
    /// See [`file_type::media_type`].
    pub media_type: &'static str,
    /// See [`Document::size`].
    pub size: i64,
    /// See [`Document::sha256`].
    pub sha256: [u8; 32],
    /// See [`Document::note`].
    pub note: Line,
    /// The document of which it is the next version; else that of the same name, where there is one.
    pub version_of: Option<DocumentId>,
}

macro_rules! select_document {
    ($rest:literal $(, $argument:expr)*) => {
        sqlx::query_as!(
            Document,
            r#"select d.id as "id: DocumentId", d.project_id as "project_id: ProjectId", d.provider_id as "provider_id: ProviderId",
                      d.contract_id as "contract_id: ContractId", d.environment_id as "environment_id: EnvironmentId",
                      d.output_id as "output_id: OutputId", d.first_id as "first_id: DocumentId", d.number, d.name as "name: Name",
                      d.media_type, d.size, d.sha256, d.note as "note: Line", d.added_by, d.added_at,
                      v.reason as "voided_because?"
               from document d left join document_void v on v.document_id = d.id "# + $rest
            $(, $argument)*
        )
    };
}

/// The document with this id, where the reader may see it.
pub async fn get(connection: &mut PgConnection, id: DocumentId) -> Result<Document> {
    Ok(select_document!("where d.id = $1", id.0).fetch_one(connection).await?)
}

/// What is attached to a thing: by document, the newest version first.
pub async fn of(connection: &mut PgConnection, holder: Holder) -> Result<Vec<Document>> {
    let [provider, contract, environment, output] = holder.columns();
    let documents = select_document!(
        "where d.provider_id = $1 or d.contract_id = $2 or d.environment_id = $3 or d.output_id = $4
         order by coalesce(d.first_id, d.id), d.number desc",
        provider,
        contract,
        environment,
        output
    );
    Ok(documents.fetch_all(connection).await?)
}

/// Where a file comes in among those that are there (newest version first): the first of its versions, and its number.
fn next_version(there: &[Document], new: &NewDocument) -> Result<(Option<DocumentId>, i32)> {
    let newest = |document: &&Document| !there.iter().any(|other| is_newer(other, document));
    let last = match new.version_of {
        Some(id) => {
            let chosen = there.iter().find(|document| document.id == id).map(Document::series);
            let series =
                chosen.ok_or_else(|| Error::invalid("version_of", Message::new("error-document-version-of")))?;
            there.iter().filter(newest).find(|document| document.series() == series)
        }
        None => there.iter().filter(newest).find(|document| document.name == new.name && document.is_open()),
    };
    let Some(last) = last else { return Ok((None, 1)) };
    if last.sha256 == new.sha256 && last.is_open() {
        let message = Message::new("error-document-same").with("name", last.name.as_str()).with("number", last.number);
        return Err(Error::invalid("file", message));
    }
    Ok((Some(last.series()), last.number + 1))
}

fn is_newer(document: &Document, than: &Document) -> bool {
    document.series() == than.series() && document.number > than.number
}

/// Attaches a file.
pub async fn attach(tx: &mut Tx, place: &Place, new: &NewDocument) -> Result<Document> {
    tx.allow(place.permission(), place.project)?;
    let project = place.project.map(|project| project.0);
    // Two uploads at once are two versions, and both are counted.
    sqlx::query!(
        "select pg_advisory_xact_lock(hashtextextended('documents of ' || coalesce($1::bigint, 0), 0))",
        project
    )
    .execute(tx.connection())
    .await?;
    let there = of(tx.connection(), place.holder).await?;
    let (first, number) = next_version(&there, new)?;
    if there.len() >= limits::DOCUMENTS {
        return Err(Error::invalid("file", Message::new("error-documents-many").with("most", limits::DOCUMENTS)));
    }
    let used = sqlx::query_scalar!(
        r#"select coalesce(sum(size), 0)::bigint as "used!" from document where project_id is not distinct from $1"#,
        project
    );
    if used.fetch_one(tx.connection()).await? + new.size > limits::PROJECT_DOCUMENT_BYTES {
        let most = format!("{} GiB", limits::PROJECT_DOCUMENT_BYTES >> 30);
        return Err(Error::invalid("file", Message::new("error-documents-space").with("most", most)));
    }
    let (now, name) = (tx.now(), tx.actor().name.clone());
    let [provider, contract, environment, output] = place.holder.columns();
    let id = sqlx::query_scalar!(
        r#"insert into document (project_id, provider_id, contract_id, environment_id, output_id, first_id, number, name,
                                 media_type, size, sha256, note, added_by, added_at)
           values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14) returning id as "id: DocumentId""#,
        project,
        provider,
        contract,
        environment,
        output,
        first.map(|id| id.0),
        number,
        new.name.as_str(),
        new.media_type,
        new.size,
        new.sha256.as_slice(),
        new.note.as_str(),
        name,
        now,
    )
    .fetch_one(tx.connection())
    .await?;
    let document = get(tx.connection(), id).await?;
    tx.record_change(change("document.attached", &document, place)?).await?;
    Ok(document)
}

/// Voids one version; the actor's reason is kept beside it.
///
/// # Errors
/// [`Error::Conflict`] where it was voided before.
pub async fn void(tx: &mut Tx, place: &Place, id: DocumentId, reason: &Line) -> Result<()> {
    tx.allow(place.permission(), place.project)?;
    let document = get(tx.connection(), id).await?;
    let (now, name) = (tx.now(), tx.actor().name.clone());
    let voided = sqlx::query!(
        "insert into document_void (document_id, project_id, reason, voided_by, voided_at) values ($1, $2, $3, $4, $5)
         on conflict (document_id) do nothing",
        id.0,
        document.project_id.map(|project| project.0),
        reason.as_str(),
        name,
        now,
    )
    .execute(tx.connection())
    .await?;
    if voided.rows_affected() == 0 {
        return Err(Error::Conflict(Message::new("error-document-voided")));
    }
    tx.record_change(change("document.voided", &document, place)?).await
}

/// Reads a file's name; what stands before the last stroke was a folder.
///
/// # Errors
/// Nothing is left, it is too long, or it holds what would show another name than it is.
pub fn parse_name(text: &str) -> Result<Name, Message> {
    let name = text.rsplit(['/', '\\']).next().unwrap_or_default();
    name.parse()
        .map_err(|reason| Message::new("error-document-name").with("name", excerpt(name)).with("reason", reason))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::locale::Locale;

    fn document(id: i64, first: Option<i64>, number: i32, name: &str) -> Document {
        Document {
            id: DocumentId(id),
            project_id: None,
            provider_id: Some(ProviderId(1)),
            contract_id: None,
            environment_id: None,
            output_id: None,
            first_id: first.map(DocumentId),
            number,
            name: name.parse().unwrap(),
            media_type: String::new(),
            size: 1,
            sha256: vec![u8::try_from(id).unwrap(); 32],
            note: Line::default(),
            added_by: String::new(),
            added_at: DateTime::UNIX_EPOCH,
            voided_because: None,
        }
    }

    fn new(name: &str, version_of: Option<i64>) -> NewDocument {
        NewDocument {
            name: name.parse().unwrap(),
            media_type: "application/pdf",
            size: 1,
            sha256: [99; 32],
            note: Line::default(),
            version_of: version_of.map(DocumentId),
        }
    }

    #[test]
    fn the_same_name_or_a_chosen_document_is_the_next_version() {
        let there =
            [document(3, Some(1), 2, "签字版.pdf"), document(1, None, 1, "合同.pdf"), document(2, None, 1, "b.pdf")];
        let next = |new: &NewDocument| next_version(&there, new).unwrap();
        assert_eq!(next(&new("c.pdf", None)), (None, 1));
        assert_eq!(next(&new("签字版.pdf", None)), (Some(DocumentId(1)), 3));
        assert_eq!(next(&new("合同.pdf", None)), (None, 1), "an old name of a document that is called otherwise now");
        for chosen in [1, 3] {
            assert_eq!(next(&new("c.pdf", Some(chosen))), (Some(DocumentId(1)), 3));
        }
        assert!(next_version(&there, &new("c.pdf", Some(7))).is_err(), "a document of another thing");
        let same = NewDocument { sha256: [3; 32], ..new("签字版.pdf", None) };
        let Err(Error::Invalid(errors)) = next_version(&there, &same) else { panic!("the same bytes again") };
        assert_eq!(errors.0[0].message.key, "error-document-same");
    }

    #[test]
    fn a_voided_document_is_no_name_to_follow() {
        let voided = Document { voided_because: Some("wrong file".to_owned()), ..document(1, None, 1, "a.pdf") };
        assert_eq!(next_version(std::slice::from_ref(&voided), &new("a.pdf", None)).unwrap(), (None, 1));
        assert_eq!(next_version(&[voided], &new("a.pdf", Some(1))).unwrap(), (Some(DocumentId(1)), 2));
    }

    #[test]
    fn a_name_is_a_name_and_no_way_into_a_folder() {
        assert_eq!(parse_name("..\\..\\合同.pdf").unwrap().as_str(), "合同.pdf");
        for name in ["../", "", "a\0.pdf", "a\u{202E}fdp.exe"] {
            assert_eq!(parse_name(name).unwrap_err().key, "error-document-name", "{name:?}");
        }
        let said = Locale::En.say(&parse_name("a\u{202E}fdp.exe").unwrap_err());
        assert!(said.contains("direction"), "{said}");
    }

    #[test]
    fn a_size_is_said_in_the_unit_that_fits() {
        let shown = |size| Document { size, ..document(1, None, 1, "a") }.shown_size();
        assert_eq!([shown(1), shown(1536), shown(20 << 20)], ["1 B", "2 KiB", "20.0 MiB"]);
    }
}
