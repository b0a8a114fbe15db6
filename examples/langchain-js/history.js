import { BaseListChatMessageHistory } from "@langchain/core/chat_history";
import { call } from "./call.js";
import { shown, written } from "./messages.js";

const MOST_AT_ONCE = 98;
const LARGEST_BODY = 5 * 1024 * 1024 - 1024; // as an escaped JSON string, which is how the service counts

/** The messages of a session, oldest first, safe for many writers. */
export class ConversationMemoryHistory extends BaseListChatMessageHistory {
  lc_namespace = ["conversation_memory"];
  #service;

  /**
   * @param {{sessionId: string, url: string, token?: string | (() => string | Promise<string>)}} fields
   *   `sessionId` is your own name for the conversation: any text of 1 to 1,024 bytes.
   */
  constructor({ sessionId, url, token }) {
    super();
    this.sessionId = sessionId;
    this.#service = { url, token };
  }

  getMessages() {
    return this.#read(3);
  }

  addMessage(message) {
    return this.addMessages([message]);
  }

  /** Up to 98 messages, of 5 MB, are stored at once or not at all. With a key of your own you may repeat the call. */
  async addMessages(messages, idempotencyKey = crypto.randomUUID()) {
    const all = messages.map(written);
    const { id } = await call(this.#service, "POST", "/conversations", { sessionId: this.sessionId });
    for (const [number, batch] of batches(all).entries()) {
      const key = `${idempotencyKey}-${number}`;
      await call(this.#service, "POST", `/conversations/${id}/messages`, { messages: batch }, key);
    }
  }

  async clear() {
    const id = await this.#find();
    if (id) await call(this.#service, "DELETE", `/conversations/${id}/messages`);
  }

  async #find() {
    const query = new URLSearchParams({ sessionId: this.sessionId });
    const { conversations } = await call(this.#service, "GET", `/conversations?${query}`);
    return conversations[0]?.id;
  }

  /** Read all pages; again if the conversation is cleared or deleted in the middle. */
  async #read(tries) {
    const id = await this.#find();
    const messages = [];
    try {
      for (let cursor = id ? "" : null; cursor !== null;) {
        const query = new URLSearchParams({ limit: 1000, ...(cursor && { cursor }) });
        const page = await call(this.#service, "GET", `/conversations/${id}/messages?${query}`);
        messages.push(...page.messages.flatMap(shown));
        cursor = page.nextCursor;
      }
      return messages;
    } catch (error) {
      if (tries === 1 || !["NotFound", "InvalidCursor"].includes(error.code)) throw error;
      return this.#read(tries - 1);
    }
  }
}

function batches(messages) {
  const found = [];
  let left = 0;
  for (const message of messages) {
    const size = Buffer.byteLength(JSON.stringify(JSON.stringify(message)));
    if (size > left || found.at(-1).length === MOST_AT_ONCE) {
      found.push([]);
      left = LARGEST_BODY;
    }
    found.at(-1).push(message);
    left -= size;
  }
  return found;
}
