/** Page of a search index: a query form, its documents, details and tokens. */
import { useNavigate, useParams } from '@tanstack/react-router';
import { useState } from 'react';
import type { SearchIndexEntry } from '../../../../everstep/src/contract/search.js';
import { path } from '../../api/client.js';
import { useInstanceId } from '../../api/instances.js';
import { useApi, useChange } from '../../api/queries.js';
import { ActionButton } from '../../components/action-button.js';
import { Card } from '../../components/card.js';
import { CopyId } from '../../components/copy-id.js';
import { DescriptionList } from '../../components/description-list.js';
import { ConfirmDialog, DialogClose, DialogWindow } from '../../components/dialogs.js';
import { NotLoaded } from '../../components/loading/loaded.js';
import { PageTitle } from '../../components/page-title.js';
import { Secret } from '../../components/secret.js';
import { TimeText } from '../../components/times/time-text.js';
import { AddDocumentDialog } from './add-document-dialog.js';
import { DeleteIndexDialog, MoveIndexDialog, RenameIndexDialog } from './index-dialogs.js';
import { Namespaces } from './namespaces.js';
import { TryQuery } from './try-query.js';
import './search.css';

type OpenDialog = 'add' | 'rename' | 'move' | 'rotate' | 'delete';

export default function SearchIndexPage() {
  const { indexId = '' } = useParams({ strict: false });
  const instanceId = useInstanceId();
  const navigate = useNavigate();
  const change = useChange();
  const [namespace, setNamespace] = useState('');
  const [dialog, setDialog] = useState<OpenDialog | null>(null);
  const [newTokens, setNewTokens] = useState<SearchIndexEntry | null>(null);
  const close = () => setDialog(null);
  const index = useApi<SearchIndexEntry>({
    topic: 'account',
    name: 'search-index',
    url: path`/v2/search/${indexId}`,
  });
  const { data } = index;
  if (data === undefined)
    return (
      <>
        <PageTitle title="Search index" />
        <NotLoaded query={index} lines={10} subject="this search index" />
      </>
    );
  const disabledReason = data.access === 'read-write' ? undefined : 'Your role has read-only access to this index';
  return (
    <>
      <PageTitle
        title={data.name}
        lead="Full-text search over documents, with filters on their fields."
        actions={
          <>
            <ActionButton variant="primary" disabledReason={disabledReason} onClick={() => setDialog('add')}>
              Add document
            </ActionButton>
            <ActionButton disabledReason={disabledReason} onClick={() => setDialog('rename')}>
              Rename
            </ActionButton>
            <ActionButton disabledReason={disabledReason} onClick={() => setDialog('move')}>
              Move to team
            </ActionButton>
            <ActionButton variant="danger" disabledReason={disabledReason} onClick={() => setDialog('delete')}>
              Delete
            </ActionButton>
          </>
        }
      />
      <div className="search-cards">
        <div className="search-wide">
          <TryQuery indexId={data.id} namespace={namespace} />
        </div>
        <div className="search-wide">
          <Namespaces index={data} namespace={namespace} onSelect={setNamespace} />
        </div>
        <Card title="Index">
          <DescriptionList
            items={[
              ['ID', <CopyId key="id" value={data.id} valueName="index id" />],
              ['API endpoint', <CopyId key="endpoint" value={data.endpoint} valueName="endpoint" />],
              ['Owner account', <CopyId key="owner" value={data.customer_id} valueName="account id" />],
              ['Region', data.region],
              ['Type', data.type],
              ['Created', <TimeText key="created" unixMs={data.creation_time * 1000} />],
            ]}
          />
        </Card>
        <Card
          title="Tokens"
          actions={
            <ActionButton small disabledReason={disabledReason} onClick={() => setDialog('rotate')}>
              Rotate tokens
            </ActionButton>
          }
        >
          <p>
            The index has a token for reading and writing, and a read-only token. The server stores only their hashes, so they are
            shown only once, when they are created. If you have lost them, rotate them.
          </p>
        </Card>
      </div>
      {dialog === 'add' ? <AddDocumentDialog indexId={data.id} namespace={namespace} onClose={close} /> : null}
      {dialog === 'rename' ? <RenameIndexDialog index={data} onClose={close} /> : null}
      {dialog === 'move' ? <MoveIndexDialog index={data} onClose={close} /> : null}
      {dialog === 'delete' ? (
        <DeleteIndexDialog
          index={data}
          onClose={close}
          onDeleted={() => void navigate({ to: '/q/$instanceId/search', params: { instanceId } })}
        />
      ) : null}
      <ConfirmDialog
        title="Rotate tokens?"
        open={dialog === 'rotate'}
        onClose={close}
        confirmText="Rotate tokens"
        danger
        onConfirm={async () => {
          const outcome = await change<SearchIndexEntry>({
            method: 'POST',
            url: path`/v2/search/${data.id}/reset-password`,
            topics: ['account'],
            isManagementCall: true,
          });
          if (outcome.ok) setNewTokens(outcome.value);
          return outcome;
        }}
      >
        <p>
          Creates new values for both tokens of {data.name}. <strong>The current tokens stop working immediately</strong>, and
          this cannot be undone. Update every app that uses this index. Documents do not change.
        </p>
      </ConfirmDialog>
      {newTokens ? <NewTokensDialog index={newTokens} onClose={() => setNewTokens(null)} /> : null}
    </>
  );
}

/** Shows new tokens. They are never shown again. */
function NewTokensDialog({ index, onClose }: { readonly index: SearchIndexEntry; readonly onClose: () => void }) {
  const { name, token = '', read_only_token: readOnlyToken = '' } = index;
  return (
    <DialogWindow title={`New tokens for ${name}`} open onClose={onClose} actions={<DialogClose>Done</DialogClose>}>
      <div className="stack">
        <p>Save the tokens now: they are shown only once.</p>
        <DescriptionList
          items={[
            ['Read and write', <Secret key="token" value={token} valueName="token" />],
            ['Read-only', <Secret key="reads" value={readOnlyToken} valueName="read-only token" />],
          ]}
        />
      </div>
    </DialogWindow>
  );
}
