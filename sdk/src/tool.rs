//! What a tool server describes and answers.

use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::{Hints, Output, OutputFormat, Tool, ToolError};

impl Tool {
    /// A tool with the JSON Schema of its arguments, which must be of type `object`.
    #[must_use]
    pub fn new(name: impl Into<String>, description: impl Into<String>, input_schema: &Value) -> Self {
        Self {
            name: name.into(),
            title: None,
            description: description.into(),
            input_schema: input_schema.to_string(),
            output_schema: None,
            hints: Hints { read_only: None, destructive: None, idempotent: None, open_world: None },
        }
    }

    /// A name for people.
    #[must_use]
    pub fn with_title(mut self, title: impl Into<String>) -> Self {
        self.title = Some(title.into());
        self
    }

    /// The JSON Schema of what the tool returns.
    #[must_use]
    pub fn with_output_schema(mut self, schema: &Value) -> Self {
        self.output_schema = Some(schema.to_string());
        self
    }

    /// What a client may be told about the tool; the host believes none of it.
    #[must_use]
    pub fn with_hints(mut self, hints: Hints) -> Self {
        self.hints = hints;
        self
    }
}

impl Output {
    /// Any JSON value.
    #[must_use]
    pub fn json(value: &Value) -> Self {
        Self { value: value.to_string(), format: OutputFormat::Json, cost: None }
    }

    /// Text, as a JSON string.
    #[must_use]
    pub fn text(text: impl Into<String>) -> Self {
        Self::json(&Value::String(text.into()))
    }

    /// Anything that serialises.
    ///
    /// # Errors
    /// `failed` when the value has no JSON form; the tool may have had its effect by then.
    pub fn serialize(value: &impl Serialize) -> Result<Self, ToolError> {
        let value = serde_json::to_string(value)
            .map_err(|error| ToolError::Failed(format!("the result cannot be written as JSON: {error}")))?;
        Ok(Self { value, format: OutputFormat::Json, cost: None })
    }
}

impl ToolError {
    /// The arguments are wrong; nothing was done.
    #[must_use]
    pub fn invalid_arguments(why: impl Into<String>) -> Self {
        Self::InvalidArguments(why.into())
    }

    /// The tool gave up before it had any effect.
    #[must_use]
    pub fn failed_before_effect(why: impl Into<String>) -> Self {
        Self::FailedBeforeEffect(why.into())
    }

    /// The tool failed, and may have had an effect.
    #[must_use]
    pub fn failed(why: impl Into<String>) -> Self {
        Self::Failed(why.into())
    }

    /// There is no tool of this name here.
    #[must_use]
    pub fn unknown_tool(name: &str) -> Self {
        Self::InvalidArguments(format!("there is no tool \"{}\" on this server", crate::quote(name)))
    }

    /// The message, without its kind; empty for an elicitation.
    #[must_use]
    pub fn message(&self) -> &str {
        match self {
            Self::InvalidArguments(why) | Self::FailedBeforeEffect(why) | Self::Failed(why) => why,
            Self::UrlElicitation(_) => "",
        }
    }
}

/// Reads a tool's arguments.
///
/// # Errors
/// `invalid-arguments`, naming what does not fit `T`.
pub fn arguments<T: DeserializeOwned>(json: &str) -> Result<T, ToolError> {
    if !json.trim_start().starts_with('{') {
        return Err(ToolError::InvalidArguments("the arguments are not an object".into()));
    }
    serde_json::from_str(json).map_err(|error| ToolError::InvalidArguments(crate::quote(&error.to_string())))
}
