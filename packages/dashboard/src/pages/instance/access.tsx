/** What opens the instance, and what it signs with. */
import { useState } from 'react';
import type { QueueRecord } from '../../../../everstep/src/contract/management.js';
import { path } from '../../api/client.js';
import { useMay } from '../../api/instances.js';
import { useApi, useChange } from '../../api/queries.js';
import { Card } from '../../components/card.js';
import { DeedButton } from '../../components/deed-button.js';
import { ConfirmDialog } from '../../components/dialogs.js';
import { Facts } from '../../components/facts.js';
import { Secret } from '../../components/secret.js';
import { FailureNotice, Skeleton } from '../../components/states.js';

export function Tokens({ instance }: { readonly instance: QueueRecord }) {
  const { readOnly } = useMay();
  const change = useChange();
  const [asked, setAsked] = useState(false);
  const { token, read_only_token: readOnlyToken } = instance;
  const whole =
    token === undefined ? <span className="muted">Your role may not see it</span> : <Secret value={token} what="token" />;
  const reading =
    readOnlyToken === undefined ? (
      <span className="muted">Your role may not see it</span>
    ) : (
      <Secret value={readOnlyToken} what="read-only token" />
    );
  return (
    <Card
      title="Tokens"
      actions={
        <DeedButton small off={readOnly} onClick={() => setAsked(true)}>
          Rotate
        </DeedButton>
      }
    >
      <Facts
        facts={[
          ['Reads and writes', whole],
          ['Reads only', reading],
        ]}
      />
      <ConfirmDialog
        title="Rotate the tokens"
        open={asked}
        onClose={() => setAsked(false)}
        confirmText="Rotate tokens"
        danger
        onConfirm={() =>
          change({
            method: 'POST',
            url: path`/v2/queue/rotate-token/${instance.id}`,
            topics: ['account'],
            account: true,
            done: 'There are new tokens',
          })
        }
      >
        <p>
          Both tokens are made anew, and <strong>the present ones are good for nothing from that moment</strong>. Whoever calls
          this instance has to be given a new one. Runs go on.
        </p>
      </ConfirmDialog>
    </Card>
  );
}

interface SigningKeys {
  readonly current: string;
  readonly next: string;
}

export function Keys() {
  const { write, readOnly } = useMay();
  const change = useChange();
  const [asked, setAsked] = useState(false);
  const { data, error, isPending, refetch } = useApi<SigningKeys>({
    topic: 'settings',
    name: 'signing-keys',
    url: '/v2/keys',
    enabled: write,
  });
  return (
    <Card
      title="Signing keys"
      actions={
        <DeedButton small off={readOnly} onClick={() => setAsked(true)}>
          Rotate
        </DeedButton>
      }
    >
      {write ? (
        isPending ? (
          <Skeleton lines={2} />
        ) : error && !data ? (
          <FailureNotice failure={error} onRetry={() => void refetch()} />
        ) : data ? (
          <Facts
            facts={[
              ['Current', <Secret key="current" value={data.current} what="current signing key" />],
              ['Next', <Secret key="next" value={data.next} what="next signing key" />],
            ]}
          />
        ) : null
      ) : (
        <p className="muted">Your role may not see them.</p>
      )}
      <ConfirmDialog
        title="Rotate the signing keys"
        open={asked}
        onClose={() => setAsked(false)}
        confirmText="Rotate keys"
        danger
        onConfirm={() =>
          change({ method: 'POST', url: '/v2/keys/rotate', topics: ['settings'], done: 'The next key signs from now on' })
        }
      >
        <p>
          The next key becomes the current one, and a new next one is made. Apps that know both keys notice nothing; those that
          know only the current one refuse deliveries until they are told.
        </p>
      </ConfirmDialog>
    </Card>
  );
}
