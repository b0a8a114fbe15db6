// Values as JSON and back: what JSON has no word for is an object with one member that begins with `$`, and a long text
// that stands in a content block already is not written twice: `{"$same": [0, "text"]}` says where it is.
const SHORTEST_SHARED = 32;
const DEEPEST = 80; // the service takes JSON of a hundred levels
const NEEDS_ESCAPE = /^\$|\p{Cc}/u;

/**
 * @param {unknown} value
 * @param {string} where what complaints call it
 * @param {Map<string, (string | number)[]>} shared where long texts stand already
 */
export function encode(value, where = "value", shared = new Map(), depth = 0) {
  const inside = (member, name) => encode(member, `${where}.${name}`, shared, depth + 1);
  if (depth > DEEPEST) throw new TypeError(`${where} is nested deeper than ${DEEPEST} levels`);
  if (value === null || typeof value === "boolean") return value;
  if (typeof value === "string") return encodedText(value, shared);
  if (typeof value === "number")
    return Number.isFinite(value) ? value : { $float: String(value).replace("Infinity", "inf") };
  if (value instanceof Uint8Array) return { $bytes: encodedText(Buffer.from(value).toString("base64"), shared) };
  if (Array.isArray(value)) return value.map((member, place) => inside(member ?? null, place));
  if (typeof value !== "object" || ![Object.prototype, null].includes(Object.getPrototypeOf(value)))
    throw new TypeError(`${where} is no plain data, and could not be given back as it is`);
  const members = Object.entries(value).filter(([, member]) => member !== undefined);
  if (members.some(([name]) => NEEDS_ESCAPE.test(name)))
    return { $dict: members.map(([name, member]) => [name, inside(member, name)]) };
  return Object.fromEntries(members.map(([name, member]) => [name, inside(member, name)]));
}

function encodedText(value, shared) {
  const comma = value.startsWith("data:") ? value.indexOf(",") + 1 : 0;
  const path = shared.get(value.slice(comma));
  if (!path) return value;
  return comma ? { $same: path, after: value.slice(0, comma) } : { $same: path };
}

/** The value that `encode` wrote, here or in Python. Throws if nobody did, or if the blocks are others now. */
export function decode(value, blocks) {
  if (Array.isArray(value)) return value.map((member) => decode(member, blocks));
  if (value === null || typeof value !== "object") return value;
  if ("$same" in value) return (value.after ?? "") + at(blocks, value.$same);
  const [first] = Object.keys(value);
  if (!first?.startsWith("$"))
    return Object.fromEntries(Object.entries(value).map(([name, member]) => [name, decode(member, blocks)]));
  return TAGS[first](decode(value[first], blocks));
}

const asItStands = (value) => value;
const TAGS = {
  $float: (text) => Number(text.replace("inf", "Infinity")),
  $int: (digits) => (digits.startsWith("-") ? -Number(digits.slice(1)) : Number(digits)),
  $bytes: (text) => new Uint8Array(Buffer.from(text, "base64")),
  $dict: (pairs) => Object.fromEntries(pairs),
  // Python's own kinds, as JSON would have them
  ...Object.fromEntries(
    ["$tuple", "$set", "$frozenset", "$datetime", "$folded", "$date", "$Decimal", "$UUID"].map((name) => [
      name,
      asItStands,
    ]),
  ),
};

/** Where long texts stand in content blocks. */
export function places(value, path = []) {
  if (typeof value === "string") return new Map(value.length < SHORTEST_SHARED ? [] : [[value, path]]);
  const members = value !== null && typeof value === "object" ? Object.entries(value) : [];
  return new Map(
    members.flatMap(([name, member]) => [...places(member, [...path, Array.isArray(value) ? Number(name) : name])]),
  );
}

function at(blocks, path) {
  const found = path.reduce((member, step) => member[step], blocks);
  if (typeof found !== "string") throw new TypeError("there is no text");
  return found;
}
