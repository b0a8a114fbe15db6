// What the example for LangChain JS promises, on the service at MEMORY_URL: `node history_cases.js <name of a case>`.
import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import {
  AIMessage,
  AIMessageChunk,
  ChatMessage,
  FunctionMessage,
  HumanMessage,
  SystemMessage,
  ToolMessage,
} from "@langchain/core/messages";
import { ApiError } from "./call.js";
import { ConversationMemoryHistory } from "./history.js";

const url = process.env.MEMORY_URL;
const PNG = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNkYPhfDwAChwGA60e6kgAAAABJRU5ErkJggg==";
const LONG = "A text that is long enough to be stored once only. ";
const CALL = {
  name: "weather",
  args: { city: "Turin", days: 2, deep: { a: [null, true] } },
  id: "c1",
  type: "tool_call",
};

const MESSAGES = [
  new HumanMessage("Hi 😀 日本語"),
  new HumanMessage({ content: "Hi", id: "m1", name: "ada", additional_kwargs: { n: [0.1, -1, NaN, Infinity, null] } }),
  new HumanMessage(""),
  new HumanMessage({ content: LONG, additional_kwargs: { $same: [0, "text"], $dict: 1, "a\0b": LONG } }),
  new HumanMessage([
    { type: "text", text: LONG },
    { type: "image_url", image_url: { url: `data:image/png;base64,${PNG}`, detail: "low" } },
  ]),
  new HumanMessage([
    { type: "media", data: new Uint8Array([0, 255, 7]) },
    { type: "image", data: PNG, mimeType: "image/png" },
  ]),
  new AIMessage({ content: "It is sunny.", id: "run-1", response_metadata: { logprobs: [-0.25], model: "m" } }),
  new AIMessage({
    content: "Let me see.",
    tool_calls: [CALL, { name: "wéather now!", args: {}, id: "call!MEOW#".repeat(9), type: "tool_call" }],
    usage_metadata: { input_tokens: 5, output_tokens: 7, total_tokens: 12, input_token_details: { cache_read: 1 } },
  }),
  new AIMessage({ content: "", tool_calls: [CALL] }),
  new AIMessage({
    content: [
      { type: "thinking", thinking: "Hm.", signature: "sig" },
      { type: "text", text: "So." },
    ],
    invalid_tool_calls: [{ name: "f", args: '{"a": ', id: "c2", error: "cut off", type: "invalid_tool_call" }],
  }),
  new AIMessage({ content: [{ type: "text", text: "v1" }], response_metadata: { output_version: "v1" } }),
  new SystemMessage("Be brief."),
  new ToolMessage({ content: "21", tool_call_id: "c1", name: "weather" }),
  new ToolMessage({
    content: [{ type: "text", text: "no" }],
    tool_call_id: "call!MEOW#".repeat(9),
    status: "error",
    artifact: { rows: [[1, 2.5]], raw: new Uint8Array([1]) },
    id: "t1",
  }),
  new FunctionMessage({ content: "21", name: "weather" }),
  new ChatMessage({ content: "I disagree.", role: "critic" }),
];

const fresh = () => new ConversationMemoryHistory({ sessionId: `session ${randomUUID()}`, url });
const texts = (messages) => messages.map((message) => message.content);

function assertSame(found, expected) {
  assert.deepEqual(
    found.map((m) => m.constructor.name),
    expected.map((m) => m.constructor.name),
  );
  assert.deepEqual(
    found.map((m) => m.toDict()),
    expected.map((m) => m.toDict()),
  );
}

const CASES = {
  async "every message comes back equal by type and value"() {
    const history = fresh();
    await history.addMessages(MESSAGES);
    assertSame(await history.getMessages(), MESSAGES);
    const again = new ConversationMemoryHistory({ sessionId: history.sessionId, url: `${url}/` });
    assertSame(await again.getMessages(), MESSAGES);
  },

  async "a message in pieces comes back as the message"() {
    const history = fresh();
    const pieces = [
      new AIMessageChunk({ content: "Hel", id: "r" }),
      new AIMessageChunk({ content: "lo", tool_call_chunks: [{ name: "f", args: '{"a": 1}', id: "c", index: 0 }] }),
    ];
    await history.addMessage(pieces[0].concat(pieces[1]));
    const [found] = await history.getMessages();
    assert.equal(found.constructor.name, "AIMessage");
    assert.deepEqual([found.content, found.id, found.tool_calls[0].args], ["Hello", "r", { a: 1 }]);
  },

  async "a session is read over several pages, and written in several requests"() {
    const history = fresh();
    const large = Array.from({ length: 4 }, (_, number) => new HumanMessage(`${number}`.repeat(1_500_000)));
    const small = Array.from({ length: 100 }, (_, number) => new AIMessage(`${number}`));
    const asked = [];
    const usual = globalThis.fetch;
    globalThis.fetch = (address, options) => (
      asked.push(`${options.method} ${new URL(address).pathname}`),
      usual(address, options)
    );
    await history.addMessages([...large, ...small]);
    assert.equal(asked.filter((one) => one.startsWith("POST") && one.endsWith("/messages")).length, 3);
    asked.length = 0;
    assert.deepEqual(texts(await history.getMessages()), texts([...large, ...small]));
    assert.equal(asked.filter((one) => one.endsWith("/messages")).length, 2);
  },

  async "repeating with a key stores once, another content with the key is refused"() {
    const history = fresh();
    await history.addMessages([new HumanMessage("once")], "key");
    await history.addMessages([new HumanMessage("once")], "key");
    const refused = await history.addMessages([new HumanMessage("other")], "key").catch((error) => error);
    assert.ok(refused instanceof ApiError);
    assert.deepEqual([refused.status, refused.code], [422, "IdempotencyMismatch"]);
    assert.ok(refused.requestId);
    assert.deepEqual(texts(await history.getMessages()), ["once"]);
  },

  async "what could not be given back is named, and nothing is stored"() {
    const history = fresh();
    const artifact = { frame: new Map() };
    const message = new ToolMessage({ content: "x", tool_call_id: "c", artifact });
    await assert.rejects(history.addMessages([new HumanMessage("before"), message]), /messages\[1\]\.artifact\.frame/);
    const half = await history.addMessages([new HumanMessage("cut \ud83d")]).catch((error) => error);
    assert.deepEqual([half.status, half.code], [400, "InvalidRequest"]);
    assert.deepEqual(await history.getMessages(), []);
  },

  async "a clear empties this session alone, and it goes on"() {
    const [one, other] = [fresh(), fresh()];
    await one.clear();
    await one.addUserMessage("Hi!");
    await one.addAIMessage("What's up?");
    await other.addUserMessage("Mine.");
    assertSame(await one.getMessages(), [new HumanMessage("Hi!"), new AIMessage("What's up?")]);
    await one.clear();
    assert.deepEqual(await one.getMessages(), []);
    await one.addUserMessage("Again.");
    assert.deepEqual(texts(await one.getMessages()), ["Again."]);
    assert.deepEqual(texts(await other.getMessages()), ["Mine."]);
  },

  async "writers at once lose nothing"() {
    const history = fresh();
    await Promise.all(Array.from({ length: 4 }, (_, number) => history.addUserMessage(`${number}`)));
    const found = texts(await history.getMessages()).map(Number);
    assert.deepEqual(
      found.sort((a, b) => a - b),
      Array.from({ length: 4 }, (_, number) => number),
    );
  },

  async "what others wrote is shown as LangChain would say it"() {
    const history = fresh();
    const post = (path, body) =>
      fetch(url + path, {
        method: "POST",
        headers: { "content-type": "application/json" },
        body: JSON.stringify(body),
      }).then((answer) => answer.json());
    const { id } = await post("/conversations", { sessionId: history.sessionId });
    const image = { image: { format: "png", source: { bytes: PNG } } };
    const use = { toolUse: { toolUseId: "t1", name: "weather", input: { city: "Turin" } } };
    const results = [
      { toolResult: { toolUseId: "t1", content: [{ json: { c: 21 } }], status: "error" } },
      { toolResult: { toolUseId: "t2", content: [{ text: "a" }, { text: "b" }] } },
    ];
    const { messages: rows } = await post(`/conversations/${id}/messages`, {
      messages: [
        { role: "system", content: [{ text: "Be brief." }] },
        { role: "user", content: [{ text: "What is this?" }, image] },
        { role: "assistant", content: [{ text: "Let me see." }, use] },
        { role: "tool", content: results },
        { role: "user", content: [{ text: "still here", langchain: { type: "hologram", data: {} } }] },
        {
          role: "user",
          content: [{ text: "changed", langchain: { type: "human", data: { content: { $same: [7, "text"] } } } }],
        },
      ],
    });
    const ids = rows.map((row) => row.id);
    const parts = [
      { type: "text", text: "a" },
      { type: "text", text: "b" },
    ];
    const seen = [
      { type: "text", text: "What is this?" },
      { type: "image", data: PNG, mimeType: "image/png" },
    ];
    const call = { id: "t1", name: "weather", args: { city: "Turin" }, type: "tool_call" };
    assertSame(await history.getMessages(), [
      new SystemMessage({ content: "Be brief.", id: ids[0] }),
      new HumanMessage({ content: seen, id: ids[1] }),
      new AIMessage({ content: "Let me see.", tool_calls: [call], id: ids[2] }),
      new ToolMessage({ content: '{"c":21}', tool_call_id: "t1", status: "error", id: ids[3] }),
      new ToolMessage({ content: parts, tool_call_id: "t2", status: "success", id: `${ids[3]}#1` }),
      new HumanMessage({ content: "still here", id: ids[4] }),
      new HumanMessage({ content: "changed", id: ids[5] }),
    ]);
  },

  async "trouble on the way does nothing twice"() {
    const history = fresh();
    await history.addMessages([new HumanMessage("once"), new AIMessage("and only once")]);
    assert.deepEqual(texts(await history.getMessages()), ["once", "and only once"]);
  },
};

const chosen = CASES[process.argv[2]];
if (chosen) await chosen();
else console.log(JSON.stringify(Object.keys(CASES)));
