//! What a body says at the places where errors stand: codes, messages, hints when to come back.
//!
//! Those places are `error`, `errors[0]`, `[0].error`, `choices[0].error`, `response.error`,
//! `base_resp`, `header.code`, `Response.Error`, `detail`, and the top level. Nothing else is looked at:
//! prompts and assistant text may hold any word. JSON inside a string is looked into where gateways
//! put a provider's error.

use super::frames::Exception;
use super::scan::{Key, Place, SKIP, Value, Visit, walk};
use super::words::Words;

/// More than any provider sends of one kind; what follows is ignored.
const MAX_ITEMS: usize = 24;
/// Longer than any code.
const MAX_CODE_BYTES: usize = 96;
/// How much of all messages together is kept.
const MAX_TEXT_BYTES: usize = 8 * 1024;
/// How often JSON in a string is looked into.
const MAX_NESTED: usize = 4;

/// A code, type, reason or status.
#[derive(Debug)]
pub(super) struct Code {
    pub(super) text: String,
    pub(super) place: &'static str,
    /// At the top level, where an answer that is no error has fields of the same names.
    pub(super) is_at_root: bool,
}

/// What is meant for people.
#[derive(Debug)]
pub(super) struct Message {
    pub(super) text: String,
    is_at_root: bool,
}

/// A hint in a field of its own.
#[derive(Debug)]
pub(super) struct Hint {
    pub(super) unit: Unit,
    pub(super) text: String,
}

/// What a hint counts in, if it is a bare number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Unit {
    Seconds,
    Millis,
}

/// The shape of an envelope, as far as it tells who sent it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Shape(u32);

impl Shape {
    pub(super) const ERROR_OBJECT: Shape = Shape(1);
    pub(super) const BASE_RESP: Shape = Shape(1 << 1);
    pub(super) const HEADER_CODE: Shape = Shape(1 << 2);
    pub(super) const SID: Shape = Shape(1 << 3);
    pub(super) const ERROR_CODE: Shape = Shape(1 << 4);
    pub(super) const ERROR_MSG: Shape = Shape(1 << 5);
    pub(super) const RESPONSE_ERROR: Shape = Shape(1 << 6);
    pub(super) const REQUEST_ID: Shape = Shape(1 << 7);
    pub(super) const TOP_CODE: Shape = Shape(1 << 8);
    pub(super) const TOP_CODE_IS_NUMBER: Shape = Shape(1 << 9);
    pub(super) const TYPE_ERROR: Shape = Shape(1 << 10);
    pub(super) const METADATA: Shape = Shape(1 << 11);
    pub(super) const SOURCE: Shape = Shape(1 << 12);
    pub(super) const SUCCESS: Shape = Shape(1 << 13);
    pub(super) const CHAT_ID: Shape = Shape(1 << 15);
    pub(super) const ERRORS_LIST: Shape = Shape(1 << 16);
    /// The top level is that of an error.
    pub(super) const ERROR_ROOT: Shape = Shape(1 << 17);
    pub(super) const EXCEPTION: Shape = Shape(1 << 18);
    pub(super) const RAW_STATUS: Shape = Shape(1 << 20);
    pub(super) const STATUS: Shape = Shape(1 << 21);

    pub(super) fn has(self, all: Shape) -> bool {
        self.0 & all.0 == all.0
    }

    pub(super) fn add(&mut self, more: Shape) {
        self.0 |= more.0;
    }
}

/// What a body says.
#[derive(Debug, Default)]
pub(super) struct Facts {
    pub(super) codes: Vec<Code>,
    /// Messages as they were written.
    pub(super) messages: Vec<Message>,
    text_bytes: usize,
    pub(super) hints: Vec<Hint>,
    /// Headers of the provider that a gateway passed on in its body, names in lower case.
    pub(super) headers: Vec<(Vec<u8>, Vec<u8>)>,
    /// `quotaId` and its like: a limit and its period in one word.
    pub(super) quota_ids: Words,
    pub(super) zero_quota: bool,
    pub(super) shape: Shape,
    nested: usize,
}

impl Facts {
    /// Reads JSON, whole or not.
    pub(super) fn read_json(&mut self, json: &[u8], is_python: bool) {
        walk(json, START, is_python, self);
    }

    /// Reads text that is no JSON.
    pub(super) fn read_text(&mut self, text: &[u8]) {
        let text = text.get(..MAX_TEXT_BYTES).unwrap_or(text);
        let text = String::from_utf8_lossy(text);
        if let Some((code, _)) = text.strip_prefix('[').and_then(|t| t.split_once(']')) {
            // Zhipu: `[1302][message][request id]`.
            self.code("body:text", code, false);
        }
        self.message(&text, false);
    }

    /// Reads an exception of a binary stream.
    pub(super) fn exception(&mut self, exception: &Exception<'_>) {
        let name = String::from_utf8_lossy(exception.name);
        self.code("frame:exception-type", &name, false);
        self.read_json(exception.payload, false);
    }

    /// A code at a place, if there is room.
    pub(super) fn code(&mut self, place: &'static str, text: &str, is_at_root: bool) {
        if text.len() > 2 * MAX_CODE_BYTES {
            return;
        }
        // `ns#Shape`, `Shape:http://...`
        let text = text.rsplit('#').next().unwrap_or_default();
        let text = text.split(':').next().unwrap_or_default().trim();
        if !text.is_empty() && text.len() <= MAX_CODE_BYTES && self.codes.len() < MAX_ITEMS {
            // In an order that does not hang on that of the fields.
            let is_before = |code: &Code| (code.place, code.text.as_str()) < (place, text);
            let at = self.codes.iter().take_while(|code| is_before(code)).count();
            let code = Code {
                text: text.to_owned(),
                place,
                is_at_root,
            };
            self.codes.insert(at, code);
        }
    }

    /// Takes what the top level says for an error, or forgets it.
    pub(super) fn settle(&mut self, is_error: bool) {
        if !is_error && !self.shape.has(Shape::ERROR_ROOT) {
            self.codes.retain(|code| !code.is_at_root);
            self.messages.retain(|message| !message.is_at_root);
        }
    }

    /// Whether the body holds an error, if it came under a success.
    pub(super) fn has_error(&self) -> bool {
        self.shape.has(Shape::ERROR_OBJECT) || self.shape.has(Shape::ERROR_ROOT)
    }

    fn message(&mut self, text: &str, is_at_root: bool) {
        let room = MAX_TEXT_BYTES
            .saturating_sub(self.text_bytes)
            .min(text.len());
        let cut = (0..=room).rev().find(|at| text.is_char_boundary(*at));
        let text = text.get(..cut.unwrap_or(0)).unwrap_or_default();
        if text.is_empty() || self.messages.len() >= MAX_ITEMS {
            return;
        }
        self.text_bytes += text.len();
        if self.look_into(text) {
            return;
        }
        let messages = self.messages.iter();
        let at = messages
            .take_while(|message| message.text.as_str() < text)
            .count();
        let message = Message {
            text: text.to_owned(),
            is_at_root,
        };
        self.messages.insert(at, message);
    }

    /// JSON in a message, behind a gateway's own words or alone. Says whether it is alone.
    fn look_into(&mut self, text: &str) -> bool {
        let Some((before, json)) = text.find('{').and_then(|at| text.split_at_checked(at)) else {
            return false;
        };
        let is_wrapped = ["xception", "rror code", "rovider", "pstream"]
            .iter()
            .any(|word| before.contains(word));
        let is_alone = before.bytes().all(|b| b == b'[' || b.is_ascii_whitespace());
        if !(is_alone || is_wrapped) || self.nested >= MAX_NESTED {
            return false;
        }
        self.nested += 1;
        let is_python = !json.contains("{\"");
        walk(json.as_bytes(), START, is_python, self);
        is_alone
    }

    fn hint(&mut self, unit: Unit, value: Value<'_>) {
        if self.hints.len() < MAX_ITEMS && value.raw().len() <= MAX_CODE_BYTES {
            self.hints.push(Hint {
                unit,
                text: value.text().into_owned(),
            });
        }
    }
}

const START: Place = 1;
const ROOT: Place = 2;
const ERROR: Place = 3;
const ERRORS: Place = 4;
const BASE_RESP: Place = 5;
const HEADER: Place = 6;
const RESPONSE: Place = 7;
const TENCENT: Place = 8;
const CHOICES: Place = 9;
const CHOICE: Place = 10;
const METADATA: Place = 11;
const HEADERS: Place = 12;
const DETAILS: Place = 13;
const DETAIL: Place = 14;
const VIOLATIONS: Place = 15;
const RETRY_DELAY: Place = 16;

impl Visit for Facts {
    fn enter(&mut self, parent: Place, key: Key<'_>, is_list: bool) -> Place {
        let mut buffer = [0; NAME_BYTES];
        let name = match key {
            Key::Item(_) => {
                return match parent {
                    START => match is_list {
                        true => START,
                        false => ROOT,
                    },
                    ERRORS => ERROR,
                    CHOICES => CHOICE,
                    DETAILS => DETAIL,
                    VIOLATIONS => DETAIL,
                    _ => SKIP,
                };
            }
            Key::Field(name) => plain_name(name, &mut buffer),
        };
        let place = match (parent, name) {
            (ROOT, b"error" | b"err" | b"fault" | b"detail" | b"exception") => ERROR,
            (ROOT | ERROR, b"errors") => ERRORS,
            (ROOT, b"baseresp") => BASE_RESP,
            (ROOT, b"header") => HEADER,
            (ROOT, b"response") => match key {
                Key::Field(b"Response") => TENCENT,
                _ => RESPONSE,
            },
            (ROOT, b"choices") => CHOICES,
            (TENCENT, b"error") => {
                self.shape.add(Shape::RESPONSE_ERROR);
                ERROR
            }
            (RESPONSE | CHOICE | METADATA, b"error") => ERROR,
            (ROOT, name) if name.ends_with(b"exception") => {
                self.shape.add(Shape::EXCEPTION);
                self.code("body:exception", &lossy(key), false);
                ERROR
            }
            (ROOT | ERROR, b"details") => match is_list {
                true => DETAILS,
                false => DETAIL,
            },
            (ERROR, b"error" | b"innererror" | b"cause" | b"detail") => ERROR,
            (ERROR | DETAIL | METADATA, b"metadata" | b"extensions") => METADATA,
            (ERROR | METADATA, b"headers") => HEADERS,
            (DETAIL, b"violations") => VIOLATIONS,
            (DETAIL, b"retrydelay") => RETRY_DELAY,
            _ => SKIP,
        };
        match (place, parent, is_list) {
            (ERROR, _, true) => ERRORS,
            // An answer may have details of its own.
            (ERROR, _, false) if name != b"detail" => {
                self.shape.add(Shape::ERROR_OBJECT);
                place
            }
            (ERRORS, ROOT, true) => {
                self.shape.add(Shape::ERRORS_LIST);
                place
            }
            (METADATA, ERROR, _) => {
                self.shape.add(Shape::METADATA);
                place
            }
            _ => place,
        }
    }

    fn value(&mut self, parent: Place, key: Key<'_>, value: Value<'_>) {
        if matches!(value, Value::Bare(b"null" | b"None" | b"true" | b"True")) {
            return;
        }
        let mut buffer = [0; NAME_BYTES];
        let name = match key {
            Key::Field(name) => plain_name(name, &mut buffer),
            Key::Item(_) => {
                // A list of messages, or a document that is one text.
                if matches!((parent, value), (START | ERRORS, Value::Text(_))) {
                    self.message(&value.text(), parent == START);
                }
                return;
            }
        };
        match parent {
            ROOT => self.at_root(name, value),
            ERROR | CHOICE | DETAIL | METADATA => self.in_error(parent, name, value),
            BASE_RESP => match name {
                b"statuscode" if value.raw() != b"0" => {
                    self.shape.add(Shape::BASE_RESP);
                    self.shape.add(Shape::ERROR_ROOT);
                    self.code("body:base_resp.status_code", &value.text(), false);
                }
                b"statusmsg" => self.message(&value.text(), true),
                _ => {}
            },
            HEADER => match name {
                b"code" if value.raw() != b"0" => {
                    self.shape.add(Shape::HEADER_CODE);
                    self.shape.add(Shape::ERROR_ROOT);
                    self.code("body:header.code", &value.text(), false);
                }
                b"message" => self.message(&value.text(), true),
                _ => {}
            },
            HEADERS if self.headers.len() < MAX_ITEMS => {
                let value = value.text().into_owned().into_bytes();
                self.headers
                    .push((lossy(key).to_ascii_lowercase().into_bytes(), value));
            }
            RETRY_DELAY if name == b"seconds" => self.hint(Unit::Seconds, value),
            _ => {}
        }
    }
}

impl Facts {
    fn at_root(&mut self, name: &[u8], value: Value<'_>) {
        let is_number = matches!(value, Value::Bare(_));
        let Some(field) = field(name) else { return };
        match field {
            Field::Code => {
                self.shape.add(Shape::TOP_CODE);
                if is_number {
                    self.shape.add(Shape::TOP_CODE_IS_NUMBER);
                }
                self.code("body:code", &value.text(), true);
            }
            Field::ErrorCode => {
                if value.raw() != b"0" {
                    self.shape.add(Shape::ERROR_CODE);
                    self.shape.add(Shape::ERROR_ROOT);
                    self.code("body:error_code", &value.text(), true);
                }
            }
            Field::Type => {
                if value.raw() == b"error" {
                    self.shape.add(Shape::TYPE_ERROR);
                    self.shape.add(Shape::ERROR_ROOT);
                }
                self.code("body:type", &value.text(), true);
            }
            Field::Status | Field::Reason | Field::Id => {
                if field == Field::Status {
                    self.shape.add(Shape::STATUS);
                } else if value.raw().starts_with(b"chatcmpl") {
                    self.shape.add(Shape::CHAT_ID);
                }
                self.code("body:status", &value.text(), true);
            }
            Field::Error => {
                if !value.raw().is_empty() && !is_number {
                    self.shape.add(Shape::ERROR_OBJECT);
                    let text = value.text();
                    self.message(&text, false);
                    self.code("body:error", &text, false);
                }
            }
            Field::Message => self.message(&value.text(), true),
            Field::ErrorMessage => {
                self.shape.add(Shape::ERROR_MSG);
                self.message(&value.text(), true);
            }
            Field::Shape(shape) => self.shape.add(shape),
            Field::Hint(unit) => self.hint(unit, value),
            Field::LimitSource | Field::Raw | Field::QuotaId | Field::QuotaValue => {}
        }
    }

    fn in_error(&mut self, parent: Place, name: &[u8], value: Value<'_>) {
        let Some(field) = field(name) else { return };
        let place = match field {
            Field::Code | Field::ErrorCode => "body:error.code",
            // Google's name of the detail.
            Field::Type if parent == DETAIL => return,
            Field::Type => "body:error.type",
            Field::Status => "body:error.status",
            Field::Reason => "body:error.details.reason",
            Field::LimitSource => "body:error.metadata.limit_source",
            Field::Error if matches!(value, Value::Bare(_)) => return,
            Field::Message | Field::ErrorMessage | Field::Raw | Field::Error => {
                self.message(&value.text(), false);
                return;
            }
            Field::QuotaId => {
                self.quota_ids.add(&value.text());
                return;
            }
            Field::QuotaValue => {
                self.zero_quota |= value.raw() == b"0";
                return;
            }
            Field::Hint(unit) => {
                self.hint(unit, value);
                return;
            }
            Field::Shape(shape) => {
                self.shape.add(shape);
                return;
            }
            Field::Id => return,
        };
        if parent != CHOICE {
            self.code(place, &value.text(), false);
        }
    }
}

/// What a field of a certain name holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Field {
    Code,
    ErrorCode,
    Type,
    Status,
    Reason,
    LimitSource,
    Id,
    Error,
    Message,
    ErrorMessage,
    /// The provider's own answer, as a gateway had it.
    Raw,
    QuotaId,
    QuotaValue,
    Hint(Unit),
    /// Tells only who wrote this.
    Shape(Shape),
}

fn field(name: &[u8]) -> Option<Field> {
    let mut fields = FIELDS.iter();
    let (_, field) =
        fields.find(|(names, _)| names.split(' ').any(|known| known.as_bytes() == name))?;
    Some(*field)
}

const FIELDS: &[(&str, Field)] = &[
    ("code", Field::Code),
    ("errorcode", Field::ErrorCode),
    ("type errortype object eventtype", Field::Type),
    ("status statuscode", Field::Status),
    ("reason", Field::Reason),
    ("limitsource", Field::LimitSource),
    ("id name", Field::Id),
    ("error errors err", Field::Error),
    (
        "message msg detail title description errordescription faultstring messagezh",
        Field::Message,
    ),
    ("errormsg errormessage", Field::ErrorMessage),
    ("raw body", Field::Raw),
    ("quotaid quotalimit quotametric", Field::QuotaId),
    ("quotavalue", Field::QuotaValue),
    (
        "retryafter retryafterseconds retryaftersecs retryaftersec retrydelay retrydelayseconds \
         retryin retryinseconds retryat quotaresetdelay quotaresettimestamp resetsat resetat \
         resettime resetsin resetin resetsinseconds resetinseconds resetafter resetafterseconds \
         resettimestamp resetdate reset resets waitseconds waittime wait estimatedtime availableat",
        Field::Hint(Unit::Seconds),
    ),
    (
        "retryafterms retryaftermillis retryaftermilliseconds retrydelayms waitms resetinms \
         resetsinms resetafterms",
        Field::Hint(Unit::Millis),
    ),
    ("requestid", Field::Shape(Shape::REQUEST_ID)),
    ("sid", Field::Shape(Shape::SID)),
    ("success", Field::Shape(Shape::SUCCESS)),
    ("rawstatuscode", Field::Shape(Shape::RAW_STATUS)),
    ("source", Field::Shape(Shape::SOURCE)),
];

/// Longer than any name that is looked for.
const NAME_BYTES: usize = 32;

/// A field's name in lower case without spaces, dashes and underscores: `"@type"` and `"errorCode"`
/// are written in many ways. Names that do not fit are no name.
fn plain_name<'b>(name: &[u8], buffer: &'b mut [u8; NAME_BYTES]) -> &'b [u8] {
    let mut length = 0;
    for byte in name {
        if matches!(byte, b' ' | b'-' | b'_' | b'@') {
            continue;
        }
        match buffer.get_mut(length) {
            Some(slot) => *slot = byte.to_ascii_lowercase(),
            None => return b"",
        }
        length += 1;
    }
    buffer.get(..length).unwrap_or_default()
}

fn lossy(key: Key<'_>) -> String {
    match key {
        Key::Field(name) => String::from_utf8_lossy(name).into_owned(),
        Key::Item(_) => String::new(),
    }
}
