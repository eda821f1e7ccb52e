/*
 * A made-up CPU profile whose stacks and weights depend on the time asked
 * for: compaction appears when the mock's compaction runs, and so on.
 */
import { load, compaction, missing } from './mock-series.mjs';

const HZ = 99;
const PERIOD = Math.round(1e9 / HZ); /* ns a sample */
const START = 'clone3;start_thread';
const MAIN = '_start;__libc_start_main;main';
const SYS = 'entry_SYSCALL_64_after_hwframe;do_syscall_64;';
const NET = 'resdb::ServiceNetwork::Run;resdb::Acceptor::Run;';
const EXEC = START + ';resdb::TransactionExecutor::ExecuteMessage;' +
  'resdb::KVExecutor::ExecuteData;';
const GET = EXEC + 'resdb::KVExecutor::Get;resdb::ResLevelDB::GetValue;' +
  'leveldb::DBImpl::Get;';
const SET = EXEC + 'resdb::KVExecutor::Set;resdb::ResLevelDB::SetValue;' +
  'leveldb::DBImpl::Write;';
const BG = START + ';leveldb::(anonymous namespace)::PosixEnv::' +
  'BackgroundThreadMain;leveldb::DBImpl::BackgroundCall;' +
  'leveldb::DBImpl::BackgroundCompaction;leveldb::DBImpl::DoCompactionWork;';

/* stack, samples a second at full load, driven by */
const KV = [
  [GET + 'leveldb::Version::Get;leveldb::TableCache::Get;' +
    'leveldb::Table::InternalGet;leveldb::Table::BlockReader;' +
    'leveldb::ReadBlock;snappy::RawUncompress', 15, load],
  [GET + 'leveldb::Version::Get;leveldb::TableCache::Get;' +
    'leveldb::Table::InternalGet;leveldb::Table::BlockReader;' +
    'leveldb::ReadBlock;leveldb::crc32c::Extend', 7, load],
  [GET + 'leveldb::Version::Get;leveldb::TableCache::Get;' +
    'leveldb::Table::InternalGet;leveldb::Table::BlockReader;' +
    'leveldb::ReadBlock;__pread64;' + SYS + '__x64_sys_pread64;vfs_read;' +
    'ext4_file_read_iter;filemap_read;copy_page_to_iter', 11, load],
  [GET + 'leveldb::Version::Get;leveldb::TableCache::Get;' +
    'leveldb::Table::InternalGet;leveldb::(anonymous namespace)::' +
    'TwoLevelIterator::Seek;leveldb::Block::Iter::Seek;' +
    'leveldb::InternalKeyComparator::Compare;__memcmp_avx2_movbe', 13, load],
  [GET + 'leveldb::Version::Get;leveldb::TableCache::Get;' +
    'leveldb::TableCache::FindTable;leveldb::(anonymous namespace)::' +
    'ShardedLRUCache::Lookup', 6, load],
  [GET + 'leveldb::MemTable::Get;leveldb::SkipList<char const*, ' +
    'leveldb::MemTable::KeyComparator>::FindGreaterOrEqual;' +
    'leveldb::InternalKeyComparator::Compare', 5, load],
  [SET + 'leveldb::WriteBatchInternal::InsertInto;leveldb::MemTable::Add;' +
    'leveldb::SkipList<char const*, leveldb::MemTable::KeyComparator>::' +
    'Insert;leveldb::InternalKeyComparator::Compare', 12, load],
  [SET + 'leveldb::WriteBatchInternal::InsertInto;leveldb::MemTable::Add;' +
    'leveldb::Arena::AllocateFallback;operator new(unsigned long);malloc;' +
    '_int_malloc', 4, load],
  [SET + 'leveldb::log::Writer::AddRecord;leveldb::log::Writer::' +
    'EmitPhysicalRecord;leveldb::crc32c::Extend', 6, load],
  [SET + 'leveldb::log::Writer::AddRecord;leveldb::log::Writer::' +
    'EmitPhysicalRecord;write;' + SYS + '__x64_sys_write;vfs_write;' +
    'ext4_file_write_iter;generic_perform_write;copy_page_from_iter_atomic',
  9, load],
  [SET + 'leveldb::DBImpl::MakeRoomForWrite;pthread_cond_wait;' + SYS +
    '__x64_sys_futex;do_futex;futex_wait;schedule', 3, compaction],
  [EXEC + 'resdb::KVExecutor::Set;google::LogMessage::Flush;' +
    'google::LogMessage::SendToLog;fwrite;' + SYS + '__x64_sys_write;' +
    'vfs_write;ext4_file_write_iter', 8, load],
  [EXEC + 'google::protobuf::MessageLite::ParseFromString;' +
    'google::protobuf::internal::ParseContext::ParseMessage;' +
    'google::protobuf::internal::ParseContext::ParseMessage;' +
    'resdb::KVRequest::_InternalParse', 6, load],
  [START + ';resdb::PBFT::ProcessPrepare;resdb::SignatureVerifier::' +
    'VerifyMessage;ed25519_verify;ge25519_double_scalarmult_vartime', 22,
  load],
  [START + ';resdb::PBFT::ProcessCommit;resdb::TransactionCollector::' +
    'AddRequest;std::unordered_map<unsigned long, resdb::Request>::find', 5,
  load],
  [START + ';resdb::LockFreeQueue::Pop;std::condition_variable::wait_for;' +
    'clock_gettime;[vdso]', 7, () => 0.5],
  [START + ';resdb::LockFreeQueue::Pop;std::condition_variable::wait_for;' +
    'pthread_cond_timedwait;' + SYS + '__x64_sys_futex;do_futex;futex_wait;' +
    'schedule_hrtimeout_range', 6, () => 0.6],
  [MAIN + ';' + NET + 'accept;' + SYS + '__x64_sys_accept4;' +
    'inet_csk_accept', 1.4, load],
  [MAIN + ';' + NET + 'resdb::AsyncAcceptor::OnReadBody;recv;' + SYS +
    '__x64_sys_recvfrom;tcp_recvmsg;skb_copy_datagram_iter', 6, load],
  [BG + 'leveldb::(anonymous namespace)::MergingIterator::Next;' +
    'leveldb::(anonymous namespace)::MergingIterator::FindSmallest;' +
    'leveldb::InternalKeyComparator::Compare;__memcmp_avx2_movbe', 14,
  compaction],
  [BG + 'leveldb::TableBuilder::Add;leveldb::TableBuilder::Flush;' +
    'leveldb::TableBuilder::WriteBlock;snappy::RawCompress;' +
    'snappy::internal::CompressFragment', 21, compaction],
  [BG + 'leveldb::TableBuilder::Add;leveldb::TableBuilder::Flush;' +
    'leveldb::TableBuilder::WriteRawBlock;write;' + SYS + '__x64_sys_write;' +
    'vfs_write;ext4_file_write_iter;generic_perform_write', 12, compaction],
  [BG + 'leveldb::DBImpl::FinishCompactionOutputFile;fdatasync;' + SYS +
    '__x64_sys_fdatasync;ext4_sync_file;submit_bio;blk_mq_submit_bio', 4,
  compaction],
  ['[broken stack];__memmove_avx_unaligned_erms', 1.6, load],
  ['[unknown];0x7f11c02a', 0.6, load]
];

const SMALL = [
  [MAIN + ';worker_loop;epoll_wait;' + SYS + '__x64_sys_epoll_wait;' +
    'ep_poll;schedule', 3, load],
  [MAIN + ';worker_loop;process_request;writev;' + SYS + '__x64_sys_writev;' +
    'vfs_writev;tcp_sendmsg', 4, load],
  [MAIN + ';worker_loop;process_request;parse_headers', 2, load]
];

const LIBC = /^(_start|__libc|clone3|start_thread|malloc|_int_malloc|__mem|write|fwrite|__pread64|recv|accept|fdatasync|epoll_wait|writev|pthread_|clock_gettime|operator new|std::|snappy::|google::|ed25519|ge25519)/;

function kindOf(name, inKernel) {
  if (/^\[|^0x|^total$/.test(name))
    return 'unknown';
  return inKernel ? 'kernel' : LIBC.test(name) ? 'library' : 'user';
}

/* {stack: nanoseconds} of a range. */
function stacks(service, from, until, now) {
  const out = {};
  const step = Math.max(10, Math.round((until - from) / 200 / 10) * 10);
  for (let t = from; t < Math.min(until, now); t += step) {
    if (missing(t))
      continue;
    for (const [stack, weight, drive] of service === 'kv_service' ? KV : SMALL)
      out[stack] = (out[stack] || 0) + weight * drive(t) * step;
  }
  return Object.fromEntries(Object.entries(out)
    .map(([k, v]) => [k, Math.round(v) * PERIOD]).filter(([, v]) => v > 0));
}

function tree(all) {
  const make = (kernel) => ({ total: 0, self: 0, kids: new Map(), kernel });
  const root = make(false);
  for (const [stack, value] of Object.entries(all)) {
    let n = root;
    n.total += value;
    for (const name of stack.split(';')) {
      if (!n.kids.has(name))
        n.kids.set(name, make(n.kernel || name.startsWith('entry_SYSCALL')));
      n = n.kids.get(name);
      n.total += value;
    }
    n.self += value;
  }
  return root;
}

export function flamegraph({ service, from, until }, now) {
  const root = tree(stacks(service, from, until, now));
  const names = ['total'], kinds = ['unknown'], levels = [];
  let maxSelf = 0, row = [['total', 0, root]];
  while (row.length) {
    const flat = [], next = [];
    let prev = 0;
    for (const [name, x, n] of row) {
      let id = names.indexOf(name);
      if (id < 0) {
        id = names.push(name) - 1;
        kinds.push(kindOf(name, n.kernel));
      }
      flat.push(x - prev, n.total, n.self, id);
      prev = x + n.total;
      maxSelf = Math.max(maxSelf, n.self);
      let at = x + n.self;
      for (const [k, c] of [...n.kids].sort()) {
        next.push([k, at, c]);
        at += c.total;
      }
    }
    levels.push(flat);
    row = next;
  }
  return { version: 1,
    flamebearer: { names, levels, numTicks: root.total, maxSelf },
    metadata: { format: 'single', sampleRate: 1e9, units: 'samples',
      name: 'cpu{service="' + service + '"}' },
    memlens: { from, until, slots: Math.round((until - from) / 10),
      state: root.total ? 'data' : 'zero', why: '', samples: root.total / PERIOD,
      total: root.total, total_samples: root.total / PERIOD, unit: 'nanoseconds',
      period: PERIOD, kinds, cut: { total: 0, samples: 0, nodes: 0 },
      lost: { ring_full: Math.round(root.total / PERIOD / 9000),
        stack_truncated: Math.round(root.total / PERIOD / 2500) } } };
}
