/** A search index: what is in it, what opens it, and a query to try. */
import { useNavigate, useParams } from '@tanstack/react-router';
import { useState } from 'react';
import type { SearchIndexEntry } from '../../../../everstep/src/contract/search.js';
import { path } from '../../api/client.js';
import { useQueueId } from '../../api/instances.js';
import { useApi, useChange } from '../../api/queries.js';
import { Card } from '../../components/card.js';
import { CopyId } from '../../components/copy-id.js';
import { DeedButton } from '../../components/deed-button.js';
import { ConfirmDialog, DialogClose, DialogWindow } from '../../components/dialogs.js';
import { Facts } from '../../components/facts.js';
import { PageTitle } from '../../components/page-title.js';
import { Secret } from '../../components/secret.js';
import { ErrorState, Skeleton } from '../../components/states.js';
import { TimeText } from '../../components/time-text.js';
import { DeleteDialog, RenameDialog, TransferDialog } from './index-dialogs.js';
import { Namespaces } from './namespaces.js';
import { PutDocument } from './put-document.js';
import { TryQuery } from './try-query.js';
import './search.css';

type Asked = 'put' | 'rename' | 'transfer' | 'reset' | 'delete';

export default function SearchIndexPage() {
  const { indexId = '' } = useParams({ strict: false });
  const queueId = useQueueId();
  const navigate = useNavigate();
  const change = useChange();
  const [namespace, setNamespace] = useState('');
  const [asked, setAsked] = useState<Asked | null>(null);
  const [issued, setIssued] = useState<SearchIndexEntry | null>(null);
  const close = () => setAsked(null);
  const { data, error, isPending, refetch } = useApi<SearchIndexEntry>({
    topic: 'account',
    name: 'search-index',
    url: path`/v2/search/${indexId}`,
  });
  if (isPending || !data)
    return (
      <>
        <PageTitle title="Search index" />
        {error && !isPending ? (
          <ErrorState failure={error} onRetry={() => void refetch()} what="The search index" />
        ) : (
          <Skeleton lines={10} />
        )}
      </>
    );
  const why = data.access === 'read-write' ? undefined : 'Your role may look, but not change this index';
  return (
    <>
      <PageTitle
        title={data.name}
        lead="Documents that are searched by their words and filtered by their fields."
        actions={
          <>
            <DeedButton look="primary" off={why} onClick={() => setAsked('put')}>
              Put a document
            </DeedButton>
            <DeedButton off={why} onClick={() => setAsked('rename')}>
              Rename
            </DeedButton>
            <DeedButton off={why} onClick={() => setAsked('transfer')}>
              Transfer
            </DeedButton>
            <DeedButton look="danger" off={why} onClick={() => setAsked('delete')}>
              Delete
            </DeedButton>
          </>
        }
      />
      <div className="search-cards">
        <div className="search-wide">
          <TryQuery indexId={data.id} namespace={namespace} />
        </div>
        <div className="search-wide">
          <Namespaces index={data} namespace={namespace} onChoose={setNamespace} />
        </div>
        <Card title="Index">
          <Facts
            facts={[
              ['Id', <CopyId key="id" value={data.id} what="index id" />],
              ['Address of its API', <CopyId key="endpoint" value={data.endpoint} what="address" />],
              ['Owner account', <CopyId key="owner" value={data.customer_id} what="account id" />],
              ['Region', data.region],
              ['Type', data.type],
              ['Created', <TimeText key="created" unixMs={data.creation_time * 1000} />],
            ]}
          />
        </Card>
        <Card
          title="Tokens"
          actions={
            <DeedButton small off={why} onClick={() => setAsked('reset')}>
              Make new ones
            </DeedButton>
          }
        >
          <p>
            One token reads and writes, another one only reads. They are shown only when they are made: the server stores hashes.
            If you do not have them, make new ones.
          </p>
        </Card>
      </div>
      {asked === 'put' ? <PutDocument indexId={data.id} namespace={namespace} onClose={close} /> : null}
      {asked === 'rename' ? <RenameDialog index={data} onClose={close} /> : null}
      {asked === 'transfer' ? <TransferDialog index={data} onClose={close} /> : null}
      {asked === 'delete' ? (
        <DeleteDialog
          index={data}
          onClose={close}
          onDeleted={() => void navigate({ to: '/q/$queueId/search', params: { queueId } })}
        />
      ) : null}
      <ConfirmDialog
        title="Make new tokens"
        open={asked === 'reset'}
        onClose={close}
        confirmText="Make new tokens"
        danger
        onConfirm={async () => {
          const outcome = await change<SearchIndexEntry>({
            method: 'POST',
            url: path`/v2/search/${data.id}/reset-password`,
            topics: ['account'],
            account: true,
          });
          if (outcome.ok) setIssued(outcome.value);
          return outcome;
        }}
      >
        <p>
          Both tokens of {data.name} are made anew, and <strong>the present ones are refused from that moment</strong>. Whoever
          searches it or puts documents into it has to be given a new one. The documents stay.
        </p>
      </ConfirmDialog>
      {issued ? <TokensShown index={issued} onClose={() => setIssued(null)} /> : null}
    </>
  );
}

/** The only time that the tokens are shown. */
function TokensShown({ index, onClose }: { readonly index: SearchIndexEntry; readonly onClose: () => void }) {
  const { name, token = '', read_only_token: readOnlyToken = '' } = index;
  return (
    <DialogWindow title={`New tokens of ${name}`} open onClose={onClose} actions={<DialogClose>I have them</DialogClose>}>
      <div className="stack">
        <p>Copy the tokens now: they are not shown again.</p>
        <Facts
          facts={[
            ['Reads and writes', <Secret key="token" value={token} what="token" />],
            ['Reads only', <Secret key="reads" value={readOnlyToken} what="read-only token" />],
          ]}
        />
      </div>
    </DialogWindow>
  );
}
