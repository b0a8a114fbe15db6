const PASSING = [429, 502, 503, 504];
const TRIES = 5;
const TIMEOUT_MS = 30_000;
const LONGEST_WAIT_MS = 30_000;

/** What the service refuses: `status`, `code`, `field` and `requestId` say which and where. */
export class ApiError extends Error {
  constructor(status, { code, message, field, requestId } = {}) {
    super(message ?? `the service answered ${status}`);
    Object.assign(this, { name: "ApiError", status, code, field, requestId });
  }
}

/**
 * Call the service; what passes (429, 502 to 504, a broken connection) is tried again, with one idempotency key.
 *
 * @param {{url: string, token?: string | (() => string | Promise<string>)}} service
 * @returns {Promise<any>} the answer, `undefined` if it has no body
 */
export async function call({ url, token }, method, path, body, key = crypto.randomUUID()) {
  for (let attempt = 1; ; attempt++) {
    const secret = typeof token === "function" ? await token() : token;
    const headers = {
      "content-type": "application/json",
      ...(secret && { authorization: `Bearer ${secret}` }),
      ...(method === "POST" && { "idempotency-key": key }),
    };
    const signal = AbortSignal.timeout(TIMEOUT_MS);
    let wait = Math.random() * 100 * 2 ** attempt;
    try {
      const answer = await fetch(url.replace(/\/$/, "") + path, {
        method,
        headers,
        signal,
        body: body && JSON.stringify(body),
      });
      if (answer.ok) return answer.status === 204 ? undefined : await answer.json();
      const told = await answer.json().catch(() => ({}));
      const error = new ApiError(answer.status, told.error ?? told);
      if (!PASSING.includes(answer.status) || attempt === TRIES) throw error;
      wait = Math.max(wait, Number(answer.headers.get("retry-after") ?? 0) * 1000);
    } catch (error) {
      if (error instanceof ApiError || attempt === TRIES) throw error;
    }
    await new Promise((resolve) => setTimeout(resolve, Math.min(wait, LONGEST_WAIT_MS)));
  }
}
