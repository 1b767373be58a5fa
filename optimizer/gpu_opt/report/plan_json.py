"""plan.json for the reports: the document itself is made below, where plans are checked by it."""

from gpu_opt.answer.document import SCHEMA, infeasible_json, to_json

__all__ = ["SCHEMA", "infeasible_json", "to_json"]
