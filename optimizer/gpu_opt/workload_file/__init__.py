"""The workload file: `reader.load`, `to_question.to_question`, `overlay.load_overlay`, `shortcut` for questions
without a file, `starter` and `json_schema` for those who write one."""
