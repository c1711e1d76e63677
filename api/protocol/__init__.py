"""The parts of every API call: access, limits, fields, paging, versions, problem documents."""
