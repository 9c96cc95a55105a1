"""Answers compared with the schemas of an openapi.json. Unknown members are errors."""
import copy

import jsonschema


class Schemas:
    def __init__(self, document):
        self.components = document["components"]["schemas"]
        self.strict = {name: self.closed(schema) for name, schema in self.components.items()}

    def closed(self, schema):
        """A copy in which objects have no other members than those described."""
        if isinstance(schema, list):
            return [self.closed(one) for one in schema]
        if not isinstance(schema, dict):
            return schema
        made = {name: self.closed(value) for name, value in schema.items()}
        if isinstance(made.get("properties"), dict) and "type" in made:
            made.setdefault("additionalProperties", False)
        return made

    def errors(self, schema, value, strict=True):
        whole = copy.copy(self.closed(schema) if strict else schema)
        whole["components"] = {"schemas": self.strict if strict else self.components}
        validator = jsonschema.Draft202012Validator(whole)
        return [f"{'/'.join(map(str, one.absolute_path))}: {one.message[:300]}" for one in validator.iter_errors(value)]
