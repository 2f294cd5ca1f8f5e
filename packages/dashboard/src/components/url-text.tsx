/** A URL with its path first, because hosts repeat from row to row. The host is clipped before the path is. */
import { CopyId } from './copy-id.js';
import { partsOfUrl } from './urls/workflow-name.js';

export function UrlText({ url }: { readonly url: string }) {
  const { path, host } = partsOfUrl(url);
  return (
    <span className="url-text" title={url}>
      <span className="clip">{path === '' ? host : path}</span>
      {path === '' ? null : <span className="clip muted url-host">{host}</span>}
    </span>
  );
}

/** The URL of a workflow with a copy button. */
export const WorkflowUrl = ({ url, valueName = 'workflow URL' }: { readonly url: string; readonly valueName?: string }) => (
  <CopyId value={url} valueName={valueName}>
    <UrlText url={url} />
  </CopyId>
);
