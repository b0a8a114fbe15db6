"""Reads a synthesised template the way a person would: resources by name, references as readable text."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class Template:
    """One stack's template. ``exports`` are the values that other stacks export, already readable."""

    document: dict[str, Any]
    exports: Mapping[str, str] = field(default_factory=dict)

    def resources(self, resource_type: str) -> dict[str, Any]:
        """The resources of a type, whole, with their references readable, by logical id without its hash."""
        found = {
            name: self.readable(resource)
            for name, resource in self.document["Resources"].items()
            if resource["Type"] == resource_type
        }
        readable = {_without_hash(name): resource for name, resource in found.items()}
        assert len(readable) == len(found), f"names of {resource_type} collide without their hashes"
        return readable

    def properties(self, resource_type: str) -> dict[str, Any]:
        return {name: resource["Properties"] for name, resource in self.resources(resource_type).items()}

    def the_only(self, resource_type: str) -> Any:
        (properties,) = self.properties(resource_type).values()
        return properties

    def outputs(self) -> dict[str, Any]:
        return {name: self.readable(output["Value"]) for name, output in self.document.get("Outputs", {}).items()}

    def exported(self) -> dict[str, str]:
        outputs = self.document.get("Outputs", {}).values()
        return {output["Export"]["Name"]: self.readable(output["Value"]) for output in outputs if "Export" in output}

    def readable(self, node: Any) -> Any:
        match node:
            case {"Ref": name}:
                return f"<{name}>" if name.startswith("AWS::") else _without_hash(name)
            case {"Fn::GetAtt": [name, attribute]}:
                return f"{_without_hash(name)}.{attribute}"
            case {"Fn::ImportValue": name}:
                return self.exports[name]
            case {"Fn::Join": [separator, parts]}:
                return separator.join(map(self.readable, parts))
            case dict():
                return {key: self.readable(value) for key, value in node.items()}
        return [self.readable(item) for item in node] if isinstance(node, list) else node


@dataclass(frozen=True)
class Deployment:
    """What one set of options deploys."""

    data: Template
    app: Template

    def allowed(self, role: str) -> dict[str, set[str]]:
        """Every action that a role's policies allow, by resource; a condition stands behind the resource."""
        allowed: dict[str, set[str]] = {}
        for policy in self.app.properties("AWS::IAM::Role")[role]["Policies"]:
            for statement in policy["PolicyDocument"]["Statement"]:
                assert statement["Effect"] == "Allow"
                condition = f" if {statement['Condition']}" if "Condition" in statement else ""
                for resource in _listed(statement["Resource"]):
                    allowed.setdefault(resource + condition, set()).update(_listed(statement["Action"]))
        return allowed

    def environment(self, function: str) -> dict[str, str]:
        variables: dict[str, str] = self.app.properties("AWS::Lambda::Function")[function]["Environment"]["Variables"]
        return variables


def _listed(value: Any) -> list[str]:
    return value if isinstance(value, list) else [value]


def _without_hash(logical_id: str) -> str:
    return re.sub(r"[0-9A-F]{8}$", "", logical_id)
