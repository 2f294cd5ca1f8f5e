/**
 * Values that an app encrypts before the server receives them. The server stores an envelope instead: a JSON object
 * with a single property, such as `{"$encrypted":"v1.<key id>.<data>"}`.
 *
 * An error of a cipher can be temporary, for example because a deployment has not reached this process. Workflow code must not
 * catch it, because it would then continue differently than on other replays. The attempt fails instead (`DecryptionError`).
 */
import { base64Of, encodeBody } from '../encoded-body.js';
import { DecryptionError, describeError, jsonProblem, PayloadError, retryAdvice } from '../errors.js';
import type { EncodedBody } from '../protocol.js';

/**
 * Encrypts and decrypts values. `payloadEncryption` of `@everstep/sdk/encryption` returns one; implement it yourself for keys in a
 * key management service. Both methods are synchronous: load keys before you serve workflows.
 */
export interface PayloadCipher {
  /** Encrypts a text, and returns everything that `decrypt` needs, for example with the id of the key. */
  encrypt(text: string): string;
  /**
   * Returns the text that `encrypt` was called with. If it throws PayloadError, the value can never be decrypted, for
   * example because it was modified. After any other error the attempt is retried, for example because a key is missing.
   */
  decrypt(encrypted: string): string;
  /** If true, new values are not encrypted, but encrypted values can be read. */
  readonly decryptOnly?: boolean;
  /** If true, a run fails if its payload is neither encrypted nor empty. */
  readonly requireEncrypted?: boolean;
}

/** The encryption option that `serve`, `connect` and `Client` have in common. */
export interface EncryptionOptions {
  /**
   * Encrypts payloads, results of `run` steps, event data and results of runs, so that the server cannot read them.
   * Values that are not encrypted are read as they are.
   */
  readonly encryption?: PayloadCipher;
}

type Cipher = PayloadCipher | undefined;

const ENVELOPE_PROPERTY = '$encrypted';
const ENVELOPE_START = /^\s*\{\s*"\$encrypted"\s*:/;
/** First character of a decrypted text that contains bytes in Base64. A text that starts with it is encrypted as bytes. */
const BYTES_MARK = '\u0000';

/** Returns the content of an envelope; null for any other value. */
function contentOf(value: unknown): string | null {
  if (typeof value !== 'object' || value === null || !(ENVELOPE_PROPERTY in value)) return null;
  const content = value[ENVELOPE_PROPERTY];
  return typeof content === 'string' && Object.keys(value).length === 1 ? content : null;
}

/** Returns the content of a text that is an envelope; null for any other text. */
function contentOfText(text: string): string | null {
  if (!ENVELOPE_START.test(text)) return null;
  try {
    return contentOf(JSON.parse(text));
  } catch {
    return null;
  }
}

function decryptContent(cipher: Cipher, content: string, subject: string): string {
  if (!cipher) throw new DecryptionError(`${subject} is encrypted: set the option "encryption"`);
  try {
    return cipher.decrypt(content);
  } catch (error) {
    const message = `${subject} cannot be decrypted: ${describeError(error).message}`;
    throw retryAdvice(error).kind === 'never' ? new PayloadError(message) : new DecryptionError(message, { cause: error });
  }
}

function parseValue(text: string, subject: string): unknown {
  try {
    return JSON.parse(text);
  } catch (error) {
    throw new PayloadError(`${subject} is not valid JSON: ${jsonProblem(error)}`);
  }
}

const canEncrypt = (cipher: Cipher): cipher is PayloadCipher => cipher !== undefined && !cipher.decryptOnly;

/** Returns the text of an envelope that contains the encrypted text, or the text itself without encryption. */
export const sealText = (cipher: Cipher, text: string): string =>
  canEncrypt(cipher) ? JSON.stringify({ [ENVELOPE_PROPERTY]: cipher.encrypt(text) }) : text;

/** Returns an envelope that contains the encrypted JSON value, or the value itself without encryption. */
export function sealValue(cipher: Cipher, value: unknown): unknown {
  return canEncrypt(cipher) && value !== undefined ? { [ENVELOPE_PROPERTY]: cipher.encrypt(JSON.stringify(value)) } : value;
}

/** Encrypts a body that is not empty. Its content type stays the same. */
export function sealBody(cipher: Cipher, body: EncodedBody): EncodedBody {
  if (!canEncrypt(cipher) || body.data === '') return body;
  const isText = body.encoding === 'utf8' && !body.data.startsWith(BYTES_MARK);
  return encodeBody(sealText(cipher, isText ? body.data : BYTES_MARK + base64Of(body)));
}

/** Encrypts a body that a client sends. */
export function sealContent(cipher: Cipher, body: string | Uint8Array | undefined): string | Uint8Array | undefined {
  return body === undefined || !canEncrypt(cipher) ? body : sealBody(cipher, encodeBody(body)).data;
}

/**
 * Returns the value of an envelope, or any other value unchanged. `subject` describes the value in errors.
 *
 * @throws {PayloadError} If the value can never be decrypted.
 * @throws {DecryptionError} If the value cannot be decrypted in this process at this time.
 */
export function openValue<Value>(cipher: Cipher, value: unknown, subject: string): Value {
  const content = contentOf(value);
  // The type is what the sender of the value promises.
  return (content === null ? value : parseValue(decryptContent(cipher, content, subject), subject)) as Value;
}

/** Returns the body in an envelope, or any other body unchanged. Throws the errors of `openValue`. */
export function openBody(cipher: Cipher, body: EncodedBody, subject: string): EncodedBody {
  const content = body.encoding === 'utf8' ? contentOfText(body.data) : null;
  return content === null ? body : bodyOf(decryptContent(cipher, content, subject));
}

const bodyOf = (text: string): EncodedBody =>
  text.startsWith(BYTES_MARK) ? { encoding: 'base64', data: text.slice(1) } : { encoding: 'utf8', data: text };

/** Returns the payload of a run. Throws the errors of `openValue`, and PayloadError for a plain payload that is not accepted. */
export function openPayload(cipher: Cipher, body: EncodedBody): EncodedBody {
  const plainBody = openBody(cipher, body, 'the payload');
  if (cipher?.requireEncrypted && plainBody === body && body.data !== '')
    throw new PayloadError('the payload is not encrypted, but this workflow accepts only encrypted payloads');
  return plainBody;
}

/**
 * Returns a value of the API with every envelope in it decrypted, including those in JSON texts inside it. Encrypted bytes become
 * Base64. `onFailure` is called for each value that cannot be decrypted; if it returns, the value stays encrypted.
 */
export function decryptAll(cipher: PayloadCipher, value: unknown, onFailure: (error: Error) => void): unknown {
  const openOrKeep = <T>(content: string, encrypted: T, open: (text: string) => T): T => {
    try {
      return open(decryptContent(cipher, content, 'a value'));
    } catch (error) {
      onFailure(error instanceof Error ? error : new Error(String(error)));
      return encrypted;
    }
  };
  const visit = (node: unknown): unknown => {
    if (typeof node === 'string') return visitText(node);
    if (typeof node !== 'object' || node === null) return node;
    if (Array.isArray(node)) return node.map(visit);
    const content = contentOf(node);
    if (content !== null) return openOrKeep<unknown>(content, node, (text) => parseValue(text, 'a value'));
    return Object.fromEntries(Object.entries(node).map(([name, inner]) => [name, visit(inner)]));
  };
  const visitText = (text: string): string => {
    if (!text.includes(ENVELOPE_PROPERTY)) return text;
    const content = contentOfText(text);
    if (content !== null) return openOrKeep(content, text, (plain) => bodyOf(plain).data);
    let inner: unknown;
    try {
      inner = JSON.parse(text);
    } catch {
      return text;
    }
    return JSON.stringify(visit(inner));
  };
  return visit(value);
}
