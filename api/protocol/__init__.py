"""What every call of the API goes through: access, limits, fields, paging, versions, problem documents."""
