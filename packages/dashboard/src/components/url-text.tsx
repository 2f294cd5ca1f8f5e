/** A URL that is clipped at the start, because its end distinguishes it from other URLs. */
export function UrlText({ url }: { readonly url: string }) {
  const path = /^[a-z]+:\/\/[^/]+(\/.+)$/i.exec(url)?.[1] ?? '';
  return (
    <span className="ends" title={url}>
      <span className="ends-first clip muted">{url.slice(0, url.length - path.length)}</span>
      <span className="ends-last clip">{path}</span>
    </span>
  );
}
