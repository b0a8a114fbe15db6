// One session of the service at MEMORY_URL, for a program in another language:
// `node session.js write <session id>` adds the messages that it is given as JSON, `read` prints them.
import { text } from "node:stream/consumers";
import { mapStoredMessagesToChatMessages } from "@langchain/core/messages";
import { ConversationMemoryHistory } from "./history.js";

const [action, sessionId] = process.argv.slice(2);
const history = new ConversationMemoryHistory({ sessionId, url: process.env.MEMORY_URL });
if (action === "write") {
  const stored = JSON.parse(await text(process.stdin));
  await history.addMessages(mapStoredMessagesToChatMessages(stored));
} else {
  const messages = await history.getMessages();
  console.log(JSON.stringify(messages.map((message) => message.toDict())));
}
