/** Dialog that adds a document to the index or replaces the document with the same id. */
import { useState } from 'react';
import { path } from '../../api/client.js';
import { useChange } from '../../api/queries.js';
import { ConfirmDialog } from '../../components/dialogs.js';
import { TextArea, TextField } from '../../components/fields.js';
import { readObject } from './read-object.js';

export interface AddDocumentDialogProps {
  readonly indexId: string;
  readonly namespace: string;
  readonly onClose: () => void;
}

export function AddDocumentDialog({ indexId, namespace, onClose }: AddDocumentDialogProps) {
  const [id, setId] = useState('');
  const [contentText, setContent] = useState('{\n  "title": ""\n}');
  const [metadataText, setMetadata] = useState('');
  const change = useChange();
  const content = readObject(contentText);
  const metadata = readObject(metadataText);
  return (
    <ConfirmDialog
      title="Add document"
      open
      onClose={onClose}
      confirmText="Add document"
      disabled={id.trim() === '' || !content.ok || content.value === null || !metadata.ok}
      onConfirm={() =>
        change({
          method: 'POST',
          url: namespace === '' ? path`/search/${indexId}/upsert-data` : path`/search/${indexId}/upsert-data/${namespace}`,
          body: {
            id: id.trim(),
            content: content.ok ? content.value : null,
            ...(metadata.ok && metadata.value !== null ? { metadata: metadata.value } : {}),
          },
          topics: ['account'],
          isManagementCall: true,
          successText: `Added document ${id.trim()}`,
        })
      }
    >
      <TextField label="Id (replaces a document with the same id)" mono value={id} onChange={setId} />
      <TextArea
        label="Searchable content (JSON object)"
        problem={content.ok ? null : content.problem}
        spellCheck={false}
        value={contentText}
        onChange={setContent}
      />
      <TextArea
        label="Metadata (JSON object, optional)"
        problem={metadata.ok ? null : metadata.problem}
        spellCheck={false}
        value={metadataText}
        onChange={setMetadata}
      />
    </ConfirmDialog>
  );
}
