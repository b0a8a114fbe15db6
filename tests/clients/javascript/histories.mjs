// Writes histories with LangChain JS's own class for DynamoDB, and says what it gives back.
// {table, options, sessions: [{sessionId, key?, messages: [{type, ...fields}]}]} -> [[{type, ...}] | {error}]
import { text } from "node:stream/consumers";
import { DynamoDBChatMessageHistory } from "@langchain/community/stores/message/dynamodb";
import * as messages from "@langchain/core/messages";

const KINDS = {
  human: messages.HumanMessage,
  ai: messages.AIMessage,
  system: messages.SystemMessage,
  tool: messages.ToolMessage,
  function: messages.FunctionMessage,
  generic: messages.ChatMessage,
};

const shown = (message) => ({
  type: message.getType(),
  content: message.content,
  additional_kwargs: message.additional_kwargs,
  tool_calls: message.tool_calls ?? [],
  invalid_tool_calls: message.invalid_tool_calls ?? [],
  role: message.role ?? null,
});

const { table, options, sessions } = JSON.parse(await text(process.stdin));
const given = [];
for (const { sessionId, key, messages: said } of sessions) {
  const history = new DynamoDBChatMessageHistory({ tableName: table, sessionId, ...options, ...(key ? { key } : {}) });
  await history.addMessages(said.map(({ type, ...fields }) => new KINDS[type](fields)));
  given.push(await history.getMessages().then((found) => found.map(shown), (error) => ({ error: error.message })));
}
console.log(JSON.stringify(given));
