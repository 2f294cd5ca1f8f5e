/** Negotiates the compression of a response. */
import type { RequestContext } from '../operation.js';

/** Encodings in the order in which they are preferred. */
export const ENCODINGS = ['br', 'gzip'] as const;
export type Encoding = (typeof ENCODINGS)[number];

export const headerText = (header: RequestContext['headers'][string]): string =>
  typeof header === 'string' ? header : (header ?? []).join();

/** Returns the first supported encoding that the Accept-Encoding header allows, or null if there is none. */
export function encodingFor(acceptEncoding: string, supported: readonly Encoding[] = ENCODINGS): Encoding | null {
  const weights = new Map(
    acceptEncoding.split(',').map((part) => {
      const [name = '', ...parameters] = part.split(';').map((text) => text.trim().toLowerCase());
      const weight = parameters.find((parameter) => parameter.startsWith('q='))?.slice(2);
      return [name, weight === undefined ? 1 : Number(weight)] as const;
    }),
  );
  const weightOf = (encoding: Encoding): number => weights.get(encoding) ?? weights.get('*') ?? 0;
  return ENCODINGS.find((encoding) => supported.includes(encoding) && weightOf(encoding) > 0) ?? null;
}
