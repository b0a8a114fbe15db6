// LangChain's messages as the service stores them: content blocks that every route and every model understands, and
// beside them, as the member `langchain` of a block, the rest. Models are never sent it. The Python class
// `ConversationMemoryHistory` keeps its messages in the same way, so that each reads what the other wrote.
import { createHash } from "node:crypto";
import * as langchain from "@langchain/core/messages";
import { decode, encode, places } from "./values.js";

const CLASSES = {
  human: langchain.HumanMessage,
  ai: langchain.AIMessage,
  system: langchain.SystemMessage,
  tool: langchain.ToolMessage,
  function: langchain.FunctionMessage,
  chat: langchain.ChatMessage,
};
const ROLES = { human: "user", ai: "assistant", system: "system", tool: "tool", function: "user", chat: "user" };
const FIELDS = [
  ...["content", "id", "name", "role", "additional_kwargs", "response_metadata", "tool_calls", "invalid_tool_calls"],
  ...["usage_metadata", "tool_call_id", "status", "artifact", "metadata"],
];
const IMAGES = { "image/png": "png", "image/jpeg": "jpeg", "image/gif": "gif", "image/webp": "webp" };
const DOCUMENTS = {
  "application/pdf": "pdf",
  "text/csv": "csv",
  "text/html": "html",
  "text/markdown": "md",
  "text/plain": "txt",
};

/** A message as it is stored; pieces of a stream are stored as the message that they make up. */
export function written(message, place) {
  const type = message.type === "generic" ? "chat" : message.type;
  if (!(type in CLASSES))
    throw new TypeError(`messages[${place}] is of the type ${type}, which could not be given back`);
  const blocks = blocksOf(message);
  const given = FIELDS.filter((name) => message[name] !== undefined).map((name) => [name, message[name]]);
  const data = encode(Object.fromEntries(given), `messages[${place}]`, places(blocks));
  const carrier = Math.max(
    0,
    blocks.findIndex((block) => "text" in block),
  );
  blocks[carrier] = { ...blocks[carrier], langchain: { type, data } };
  return { role: ROLES[type], content: blocks };
}

/** A stored message as LangChain's: that which LangChain wrote as it was, any other as LangChain would say it. */
export function shown(row) {
  const carrier = row.content.find((block) => "langchain" in block) ?? {};
  const isTrue = "text" in carrier || !row.content.some((block) => "text" in block); // and not rewritten since
  if (carrier.langchain && isTrue) {
    try {
      const { type, data } = carrier.langchain;
      return [new CLASSES[type](decode(data, row.content))];
    } catch {
      // Of a later version, or with values that JavaScript has no word for: its content blocks show it.
    }
  }
  return translated(row);
}

function blocksOf(message) {
  const parts = typeof message.content === "string" ? textOf(message.content) : standard(message).flatMap(blockOf);
  if (message.type === "tool") {
    const status = message.status === "error" ? "error" : "success";
    return [{ toolResult: { toolUseId: toolUseId(message.tool_call_id), content: parts, status } }];
  }
  if (message.type !== "ai") return parts;
  const uses = (message.tool_calls ?? []).map(({ id, name, args }) => ({
    toolUse: { toolUseId: toolUseId(id), name: name.replace(/[^\w-]/gu, "_").slice(0, 64) || "_", input: encode(args) },
  }));
  return [...parts.filter((block) => "text" in block), ...uses];
}

/** The parts of the content as LangChain's standard says them, whichever provider's they are. */
function standard(message) {
  try {
    return message.contentBlocks;
  } catch {
    return message.content;
  }
}

function blockOf(part) {
  if (part.type === "text") return textOf(part.text);
  const type = (part.mimeType ?? part.mime_type)?.split(";")[0];
  const bytes = part.data ?? part.base64;
  if (typeof bytes !== "string" || !/^[\w+/]+=*$/.test(bytes)) return [];
  if (type in IMAGES) return [{ image: { format: IMAGES[type], source: { bytes } } }];
  const name = part.metadata?.filename ?? part.extras?.filename ?? "Document";
  return type in DOCUMENTS ? [{ document: { format: DOCUMENTS[type], name, source: { bytes } } }] : [];
}

const textOf = (text) => (text.trim() ? [{ text }] : []);

/** The id, or one that is made of it where Converse would not take it. */
const toolUseId = (id = "") =>
  /^[\w.:-]{1,64}$/.test(id ?? "")
    ? id
    : createHash("sha256")
        .update(id ?? "")
        .digest("hex");

/** By role and content blocks. Its id is ours, so that code which merges by id does not take it twice. */
function translated(row) {
  const results = row.content.filter((block) => "toolResult" in block).map((block) => block.toolResult);
  const own = { content: contentOf(row.content), id: row.id };
  if (row.role === "assistant")
    return row.content.length ? [new langchain.AIMessage({ ...own, ...ofAnswer(row) })] : [];
  const tools = results.map(
    (result, place) =>
      new langchain.ToolMessage({
        content: contentOf(result.content),
        tool_call_id: result.toolUseId,
        status: result.status ?? "success",
        id: place ? `${row.id}#${place}` : row.id,
      }),
  );
  const Said = row.role === "system" ? langchain.SystemMessage : langchain.HumanMessage;
  return own.content.length ? [...tools, new Said(own)] : tools;
}

function ofAnswer({ content, usage, modelId, stopReason, toolCalls }) {
  const uses = content.filter((block) => "toolUse" in block).map((block) => block.toolUse);
  const told = Object.entries({ model_name: modelId, stop_reason: stopReason, tool_calls: toolCalls });
  return {
    tool_calls: uses.map(({ toolUseId: id, name, input: args }) => ({ id, name, args, type: "tool_call" })),
    response_metadata: Object.fromEntries(told.filter(([, value]) => value != null)),
    ...(usage && {
      usage_metadata: {
        input_tokens: usage.inputTokens,
        output_tokens: usage.outputTokens,
        total_tokens: usage.totalTokens,
      },
    }),
  };
}

/** One text as a text, anything else as a list of parts. */
function contentOf(blocks) {
  const parts = blocks.flatMap(partOf);
  return parts.length === 1 && parts[0].type === "text" ? parts[0].text : parts.length ? parts : "";
}

function partOf({ text, json, reasoningContent, image, document }) {
  if (text !== undefined) return [{ type: "text", text }];
  if (json !== undefined) return [{ type: "text", text: JSON.stringify(json) }];
  if (reasoningContent)
    return reasoningContent.reasoningText
      ? [{ type: "reasoning", reasoning: reasoningContent.reasoningText.text }]
      : [];
  for (const [media, type, known] of [
    [image, "image", IMAGES],
    [document, "file", DOCUMENTS],
  ]) {
    const mimeType = Object.keys(known).find((name) => known[name] === media?.format);
    if (mimeType && media.source.bytes) return [{ type, data: media.source.bytes, mimeType }];
  }
  return [];
}
