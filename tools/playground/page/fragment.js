// The state of the page in the fragment of its address: JSON, compressed, in URL-safe base64.
const MARK = "#z=";
const LONGEST_LINK = 60_000; // characters; beyond, mail and issue trackers cut addresses
export const LARGEST = 256 * 1024; // characters of input

export async function pack(state) {
  const bytes = await pour(new Blob([JSON.stringify(state)]).stream().pipeThrough(new CompressionStream("deflate-raw")), Infinity);
  let word = "";
  for (let at = 0; at < bytes.length; at += 8192) word += String.fromCharCode(...bytes.subarray(at, at + 8192));
  const link = MARK + btoa(word).replaceAll("+", "-").replaceAll("/", "_").replace(/=+$/, "");
  return link.length > LONGEST_LINK ? "" : link;
}

// The state of a fragment; null where it holds none, or anything else.
export async function unpack(fragment) {
  if (!fragment.startsWith(MARK)) return null;
  try {
    const word = atob(fragment.slice(MARK.length).replaceAll("-", "+").replaceAll("_", "/"));
    const packed = new Blob([Uint8Array.from(word, (one) => one.charCodeAt(0))]).stream();
    const bytes = await pour(packed.pipeThrough(new DecompressionStream("deflate-raw")), 4 * LARGEST + 4096);
    const state = JSON.parse(new TextDecoder("utf-8", { fatal: true }).decode(bytes));
    const known = ["text", "view", "line", "facts"].every((key) => typeof state?.[key] === "string");
    return known && state.text.length <= LARGEST ? state : null;
  } catch {
    return null;
  }
}

// All bytes of a stream, of which it reads no more than `most`: a few bytes may unpack to any number.
async function pour(stream, most) {
  const parts = [];
  let size = 0;
  for (const reader = stream.getReader(); ; ) {
    const { done, value } = await reader.read();
    if (done) break;
    size += value.length;
    if (size > most) {
      await reader.cancel();
      throw new RangeError("too large");
    }
    parts.push(value);
  }
  return new Uint8Array(await new Blob(parts).arrayBuffer());
}
