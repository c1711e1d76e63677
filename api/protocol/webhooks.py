"""The `webhooks` of the OpenAPI document: what Carillon posts, signed as Standard Webhooks 1.0 says."""

from typing import Annotated, Any, Literal
from uuid import UUID

from pydantic import BaseModel, Field
from pydantic.json_schema import models_json_schema

from api.protocol.fields import Instant, one_of
from notifications.messages import change_types


class WebhookMessage(BaseModel):
    """The message in a post to a webhook."""

    id: UUID = Field(description="The idempotency key, the same at every try and replay. As in `webhook-id`.")
    subject: str = Field(description="One line.")
    body: str
    slot_at: Instant | None = Field(description="When it was due; null for what nothing scheduled.")
    recipient: str = Field(description="The name of the channel's owner.")
    answer_url: str | None = Field(description="The page with “Done” and “Snooze”; null where none is asked for.")
    unsubscribe_url: str | None = Field(description="The page that ends the subscription; null without a topic.")
    correlation_id: str
    schedule_id: UUID | None = Field(description="The schedule that fired; null without one.")
    category: str | None = Field(description="A word of its sender's; null without one.")
    data: dict[str, Any] | None = Field(description="An object of its sender's; null without one.")
    code: str = Field("", description="Only in the message that confirms the channel. Answer it, or enter it.")


class WebhookPost(BaseModel):
    """The body of a POST to a webhook, and `body` of a message that a queue's pull returns."""

    type: Literal["notification"] = Field(description="Always this one.")
    timestamp: Instant = Field(description="When it was due, or sent if nothing scheduled it.")
    data: WebhookMessage = Field(description="The message.")


class CloudEventPost(BaseModel):
    """The same as a CloudEvent 1.0, where the channel's setting says so."""

    specversion: Literal["1.0"] = Field(description="Always this one.")
    id: UUID = Field(description="As in `webhook-id`.")
    source: str = Field(description="The address of this installation.")
    type: Literal["carillon.notification"] = Field(description="Always this one.")
    time: Instant = Field(description="When it was due, or sent if nothing scheduled it.")
    datacontenttype: Literal["application/json"] = Field(description="Always this one.")
    data: WebhookMessage = Field(description="The message.")


class ChangePost(BaseModel):
    """The body of a POST to a status webhook."""

    id: UUID = Field(description="The change's, as in `GET /changes`.")
    type: Annotated[str, one_of(change_types.ALL)] = Field(description="The noun and what happened to it.")
    timestamp: Instant = Field(description="When it happened.")
    data: dict[str, Any] = Field(description="Ids and codes of what changed.")


_POSTS: dict[str, tuple[str, str, dict[str, type[BaseModel]]]] = {
    "notification": (
        "Get a message",
        "To a webhook, for each message on it; to a status webhook, for its code and its tests.",
        {"application/json": WebhookPost, "application/cloudevents+json": CloudEventPost},
    ),
    "change": ("Get a change", "To a status webhook, for each change of its types.", {"application/json": ChangePost}),
}
_HEADERS = {
    "id": ("The same at every try and replay: drop what you know.", {"type": "string", "format": "uuid"}),
    "timestamp": ("When this try was signed, in seconds since 1970.", {"type": "string", "pattern": "^[0-9]+$"}),
    "signature": (
        "`v1,` and HMAC-SHA256 in base64 of id, timestamp and body with dots between them. While a secret is being "
        "replaced, several with spaces between them: one right one is enough.",
        {"type": "string", "pattern": "^v1,[^ ]+( v1,[^ ]+)*$"},
    ),
}
_ANSWERS = {
    "2XX": 'It has arrived. To the message with a `code`, `{"code": "…"}` confirms the channel at once.',
    "410": "The address takes nothing any more: the channel is disabled.",
    "default": "It has not arrived. A failure that may pass is tried again, under the same `webhook-id`.",
}


def schemas() -> dict[str, Any]:
    """Of what is posted, by name."""
    models = [model for _, _, contents in _POSTS.values() for model in contents.values()]
    result = models_json_schema([(one, "serialization") for one in models], ref_template="#/components/schemas/{model}")
    return dict(result[1]["$defs"])


def section() -> dict[str, Any]:
    return {
        name: {
            "post": {
                "operationId": f"receive_{name}",
                "summary": summary,
                "description": description,
                "tags": ["channels"],
                "security": [],
                "parameters": [
                    {"in": "header", "name": f"{scheme}-{one}", "required": True, "schema": shown, "description": about}
                    for scheme in ("webhook", "svix")
                    for one, (about, shown) in _HEADERS.items()
                ],
                "requestBody": {
                    "required": True,
                    "content": {
                        content_type: {"schema": {"$ref": f"#/components/schemas/{model.__name__}"}}
                        for content_type, model in contents.items()
                    },
                },
                "responses": {status: {"description": about} for status, about in _ANSWERS.items()},
            }
        }
        for name, (summary, description, contents) in _POSTS.items()
    }
