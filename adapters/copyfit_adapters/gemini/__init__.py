"""The generateContent protocol of Google's Gemini API and of Vertex AI."""
