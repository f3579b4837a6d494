/*
 * THE table of configuration keys:
 *   X(id, name, scope, type, default, min, max, words, sentences)
 * The names are Kafka's where Kafka has the thing. SIZE is bytes, MS is
 * milliseconds. words are the choices of an ENUM, in the order of its values.
 */
#ifndef KL_BASE_CONFIG_TABLE_H
#define KL_BASE_CONFIG_TABLE_H

/* clang-format off */
#define KL_BASE_CONFIG_TABLE(X)                                                \
X(NODE_ID, "node.id", NODE, INT, "1", 0, 2147483647, "",                       \
  "Number of the node, unique in its cluster. Written into the folder when "   \
  "the store is made; later it must be the same or not be set.")               \
X(BOOTSTRAP_SERVERS, "controller.quorum.bootstrap.servers", NODE, TEXT, "",    \
  0, 255, "ID@ENDPOINT,...",                                                   \
  "Nodes of a cluster that is there already, as id@endpoint with commas "      \
  "between. A folder made with it joins that cluster, as an observer at "      \
  "first; without it a new folder is a cluster of its own. Later it tells "    \
  "where to look for voters that the folder does not know yet.")               \
X(ADVERTISED_LISTENERS, "advertised.listeners", NODE, TEXT, "", 0, 255,        \
  "ENDPOINT,...",                                                              \
  "Endpoints, with commas between, at which other nodes reach this one: what " \
  "the transport understands.")                                                \
X(ELECTION_TIMEOUT_MS, "controller.quorum.election.timeout.ms", NODE, MS,      \
  "1000", 10, 3600000, "",                                                     \
  "How long a voter without a leader waits before it campaigns, and how long " \
  "an election may take; times a random number between 1 and 2.")              \
X(FETCH_TIMEOUT_MS, "controller.quorum.fetch.timeout.ms", NODE, MS, "2000",    \
  10, 3600000, "",                                                             \
  "How long a voter goes on without a successful fetch from the leader before "\
  "it campaigns, and up to a quarter longer. A leader that most voters have "  \
  "not fetched from for one and a half of it resigns.")                        \
X(REQUEST_TIMEOUT_MS, "controller.quorum.request.timeout.ms", NODE, MS,        \
  "1000", 10, 3600000, "",                                                     \
  "How long a request of the metadata quorum waits for its answer before it "  \
  "is made again.")                                                            \
X(BROKER_SESSION_TIMEOUT_MS, "broker.session.timeout.ms", NODE, MS, "9000",    \
  10, 3600000, "",                                                             \
  "How long the controller goes on without a heartbeat of a broker before it " \
  "fences it: the broker leads nothing then.")                                 \
X(BROKER_HEARTBEAT_MS, "broker.heartbeat.interval.ms", NODE, MS, "2000",       \
  10, 3600000, "",                                                             \
  "How often a broker tells the controller that it is alive.")                 \
X(SNAPSHOT_BYTES, "metadata.log.max.record.bytes.between.snapshots", NODE,     \
  SIZE, "20971520", 1024, 1099511627776, "",                                   \
  "Bytes of the metadata log that are committed behind a snapshot before the " \
  "next one is made. What a snapshot holds is dropped from the log.")          \
X(SOCKET_REQUEST_MAX, "socket.request.max.bytes", NODE, SIZE, "67174400",      \
  65536, 67174400, "",                                                         \
  "Largest message that a transport takes from another node; a link that "     \
  "brings a larger one is closed. At least 64k above the largest batch of the "\
  "cluster.")                                                                  \
X(QUEUED_MAX_BYTES, "queued.max.request.bytes", NODE, SIZE, "16777216",        \
  4096, 68719476736, "",                                                       \
  "Memory for messages of other nodes that wait to be handled. Beyond it a "   \
  "transport takes nothing until some are.")                                   \
X(MAX_CONNECTIONS, "max.connections", NODE, INT, "256", 1, 65536, "",          \
  "Links of a transport that other nodes have made, at most.")                 \
X(WAL_BYTES, "wal.bytes", NODE, SIZE, "0", 0, 17179869184, "",                 \
  "Size of the write-ahead log made with the store, at least 64k. 0 takes a "  \
  "32nd of the free space, between 4m and 64m, but at most an eighth of it. "  \
  "It is a ring of files, four below 16m and eight from there on; the "        \
  "largest batch is one of them, and at most 4m. A reserve for a full disk "   \
  "is as large, and at least 1m.")                                             \
X(RETENTION_CHECK_MS, "log.retention.check.interval.ms", NODE, MS, "30000",    \
  100, 86400000, "",                                                           \
  "How often it is looked for segments that retention.ms or retention.bytes "  \
  "let go.")                                                                   \
X(SCRUB_BYTES_PER_SECOND, "scrub.bytes.per.second", NODE, SIZE, "1048576",     \
  0, 1099511627776, "",                                                        \
  "How fast all that is stored is verified in the background, so that damage " \
  "is known while there is another copy. 0 is not at all.")                    \
X(SCRUB_INTERVAL_MS, "scrub.interval.ms", NODE, MS, "604800000",               \
  1000, 31536000000, "",                                                       \
  "Time from the start of one such verification to the next. The first "       \
  "begins a minute after the node is opened.")                                 \
X(STORE_BYTES_MAX, "store.bytes.max", NODE, SIZE, "0",                         \
  0, 1125899906842624, "",                                                     \
  "Bytes on disk at which records are refused as on a full disk: batches in "  \
  "segments and on their way there, the write-ahead log, its checkpoints, "    \
  "snapshots and the reserve. Not counted are 4k and the index for each "      \
  "segment, and what the file system needs. 0 is without limit.")              \
X(STORE_PENDING_BYTES, "store.pending.bytes", NODE, SIZE, "8388608",           \
  65536, 68719476736, "",                                                      \
  "Memory for batches that are not yet in their segments. Beyond it appends "  \
  "wait.")                                                                     \
X(STORE_CACHE_BYTES, "store.cache.bytes", NODE, SIZE, "2097152",               \
  0, 68719476736, "",                                                          \
  "Memory for batches kept after they were written, for consumers that read "  \
  "at the end of a partition.")                                                \
X(STORE_OPEN_FILES, "store.open.files", NODE, INT, "512", 8, 1048576, "",      \
  "Segment files that are open at the same time, at most; never more than "    \
  "half of the descriptors that the process may have.")                        \
X(IO_THREADS, "io.threads", NODE, INT, "4", 1, 4, "",                          \
  "Threads for file-system calls: with 4 the write-ahead log, segments, "      \
  "reads and clean-up have one each, with 1 they share one.")                  \
X(FLUSH, "flush", TOPIC, ENUM, "commit", 0, 1, "commit|interval",              \
  "commit: a batch is acknowledged when it is on the medium. interval: when "  \
  "it is written to its segment; a power cut may lose what flush.ms and "      \
  "flush.bytes allow. Fixed when the topic is created.")                       \
X(FLUSH_MS, "flush.ms", TOPIC, MS, "-1", -1, 604800000, "",                    \
  "With flush=interval: age of written records that forces them to the "       \
  "medium. -1 leaves it to the operating system.")                             \
X(FLUSH_BYTES, "flush.bytes", TOPIC, SIZE, "-1", -1, 1099511627776, "",        \
  "With flush=interval: amount of written records that forces them to the "    \
  "medium. -1 leaves it to the operating system.")                             \
X(FULL, "full", TOPIC, ENUM, "refuse", 0, 1, "refuse|drop-oldest",             \
  "While the disk is full or store.bytes.max is reached: refuse gives "        \
  "KL_EDISKFULL for records. drop-oldest deletes the oldest segments of all "  \
  "such topics, and records wait; where nothing is left they are refused.")    \
X(INDEX_INTERVAL_BYTES, "index.interval.bytes", TOPIC, SIZE, "4096",           \
  1024, 1048576, "",                                                           \
  "Bytes of batches between two entries of a segment's index.")                \
X(MAX_MESSAGE_BYTES, "max.message.bytes", TOPIC, SIZE, "1048576",              \
  4096, 67108864, "",                                                          \
  "Largest batch that the topic takes, as stored. The write-ahead log of a "   \
  "node may allow less.")                                                      \
X(MIN_INSYNC_REPLICAS, "min.insync.replicas", TOPIC, INT, "1", 1, 32, "",      \
  "Replicas that must have a batch before it is acknowledged; not more than "  \
  "the topic has. Where it is not set, 2 of three replicas or more.")          \
X(RETENTION_BYTES, "retention.bytes", TOPIC, SIZE, "-1",                       \
  -1, 1125899906842624, "",                                                    \
  "Size of a partition above which its oldest segments are deleted. -1 is "    \
  "without limit.")                                                            \
X(RETENTION_MS, "retention.ms", TOPIC, MS, "604800000",                        \
  -1, 3155760000000, "",                                                       \
  "Age of records after which their segment is deleted. -1 is without limit.") \
X(SEGMENT_BYTES, "segment.bytes", TOPIC, SIZE, "67108864",                     \
  8192, 1073741824, "",                                                        \
  "Size at which a segment file is closed and the next begun.")                \
X(SEGMENT_MS, "segment.ms", TOPIC, MS, "604800000", -1, 3155760000000, "",     \
  "Age at which a segment file is closed and the next begun, so that it can "  \
  "be deleted in time. -1 is never.")                                          \
X(BATCH_SIZE, "batch.size", PRODUCER, SIZE, "65536", 1024, 67108864, "",       \
  "Bytes of records at which a batch is sent without waiting longer.")         \
X(BUFFER_MEMORY, "buffer.memory", PRODUCER, SIZE, "33554432",                  \
  65536, 68719476736, "",                                                      \
  "Memory for records that are not acknowledged yet. Beyond it a send gives "  \
  "KL_EAGAIN.")                                                                \
X(COMPRESSION_TYPE, "compression.type", PRODUCER, ENUM, "none", 0, 2,          \
  "none|lz4|zstd",                                                             \
  "Codec for batches. A batch that does not become smaller is stored plain.")  \
X(LINGER_MS, "linger.ms", PRODUCER, MS, "0", 0, 900000, "",                    \
  "How long a batch waits for more records. With 0 a batch grows only while "  \
  "others of its partition are on their way.")                                 \
X(MAX_IN_FLIGHT, "max.in.flight.requests.per.connection", PRODUCER, INT, "16", \
  1, 1024, "",                                                                 \
  "Batches of one partition that are on their way at the same time. Their "    \
  "order is kept whatever the value.")                                         \
X(AUTO_OFFSET_RESET, "auto.offset.reset", CONSUMER, ENUM, "earliest", 0, 2,    \
  "earliest|latest|none",                                                      \
  "Where to go on when the wanted offset is not there (any more); none "       \
  "reports KL_EOFFSETRANGE instead.")                                          \
X(FETCH_MAX_BYTES, "fetch.max.bytes", CONSUMER, SIZE, "1048576",               \
  1024, 1073741824, "",                                                        \
  "Bytes of batches that one event carries, about; at least one batch.")       \
X(FETCH_PREFETCH, "fetch.prefetch", CONSUMER, INT, "2", 1, 16, "",             \
  "Events per partition that are read ahead of the program, each up to "       \
  "fetch.max.bytes.")
/* clang-format on */

#endif
