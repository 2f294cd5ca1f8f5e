/** Search parameters of page URLs. They are plain text, so that people can read and write URLs by hand. */

export type SearchParameters = Readonly<Record<string, string>>;

export const parseSearch = (search: string): SearchParameters => Object.fromEntries(new URLSearchParams(search));

export function stringifySearch(search: Readonly<Record<string, unknown>>): string {
  const parameters = new URLSearchParams();
  for (const [name, value] of Object.entries(search))
    if (value !== undefined && value !== '') parameters.set(name, String(value));
  const text = parameters.toString();
  return text === '' ? '' : `?${text}`;
}
