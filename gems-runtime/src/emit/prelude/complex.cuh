//! complex
