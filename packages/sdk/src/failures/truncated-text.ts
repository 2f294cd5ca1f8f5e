/**
 * Returns the first `maxLength` UTF-16 units of a text, or one less, so that no surrogate pair is split. Strict parsers reject JSON
 * that contains half of a pair.
 */
export const truncateText = (text: string, maxLength: number): string =>
  text.length <= maxLength ? text : text.slice(0, maxLength).replace(/[\uD800-\uDBFF]$/, '');
