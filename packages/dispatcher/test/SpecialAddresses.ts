/** The special-purpose registries of IANA as test addresses. */

/** First, last and inner addresses of a block, and allowed addresses next to it. */
export interface Row {
  readonly block: string
  readonly refused: ReadonlyArray<string>
  readonly neighbours?: ReadonlyArray<string>
}

/** The IANA IPv4 Special-Purpose Address Registry, multicast, and the metadata service of Azure. */
export const ipv4: ReadonlyArray<Row> = [
  { block: "0.0.0.0/8", refused: ["0.0.0.0", "0.0.0.1", "0.255.255.255"], neighbours: ["1.0.0.0"] },
  {
    block: "10.0.0.0/8",
    refused: ["10.0.0.0", "10.1.2.3", "10.255.255.255"],
    neighbours: ["9.255.255.255", "11.0.0.0"]
  },
  {
    block: "100.64.0.0/10",
    refused: ["100.64.0.0", "100.100.100.200", "100.127.255.255"],
    neighbours: ["100.63.255.255", "100.128.0.0"]
  },
  {
    block: "127.0.0.0/8",
    refused: ["127.0.0.0", "127.0.0.1", "127.255.255.255"],
    neighbours: ["126.255.255.255", "128.0.0.0"]
  },
  { block: "168.63.129.16/32", refused: ["168.63.129.16"], neighbours: ["168.63.129.15", "168.63.129.17"] },
  {
    block: "169.254.0.0/16",
    refused: ["169.254.0.0", "169.254.169.254", "169.254.255.255"],
    neighbours: ["169.253.255.255", "169.255.0.0"]
  },
  {
    block: "172.16.0.0/12",
    refused: ["172.16.0.0", "172.20.1.1", "172.31.255.255"],
    neighbours: ["172.15.255.255", "172.32.0.0"]
  },
  {
    block: "192.0.0.0/24 and what is in it (/29, .8, .9, .10, .170, .171)",
    refused: ["192.0.0.0", "192.0.0.7", "192.0.0.8", "192.0.0.9", "192.0.0.10", "192.0.0.170", "192.0.0.255"],
    neighbours: ["191.255.255.255", "192.0.1.0"]
  },
  {
    block: "192.0.2.0/24",
    refused: ["192.0.2.0", "192.0.2.9", "192.0.2.255"],
    neighbours: ["192.0.1.255", "192.0.3.0"]
  },
  {
    block: "192.31.196.0/24",
    refused: ["192.31.196.0", "192.31.196.1", "192.31.196.255"],
    neighbours: ["192.31.195.255", "192.31.197.0"]
  },
  {
    block: "192.52.193.0/24",
    refused: ["192.52.193.0", "192.52.193.1", "192.52.193.255"],
    neighbours: ["192.52.192.255", "192.52.194.0"]
  },
  {
    block: "192.88.99.0/24",
    refused: ["192.88.99.0", "192.88.99.1", "192.88.99.2", "192.88.99.255"],
    neighbours: ["192.88.98.255", "192.88.100.0"]
  },
  {
    block: "192.168.0.0/16",
    refused: ["192.168.0.0", "192.168.1.1", "192.168.255.255"],
    neighbours: ["192.167.255.255", "192.169.0.0"]
  },
  {
    block: "192.175.48.0/24",
    refused: ["192.175.48.0", "192.175.48.6", "192.175.48.255"],
    neighbours: ["192.175.47.255", "192.175.49.0"]
  },
  {
    block: "198.18.0.0/15",
    refused: ["198.18.0.0", "198.19.1.1", "198.19.255.255"],
    neighbours: ["198.17.255.255", "198.20.0.0"]
  },
  {
    block: "198.51.100.0/24",
    refused: ["198.51.100.0", "198.51.100.7", "198.51.100.255"],
    neighbours: ["198.51.99.255", "198.51.101.0"]
  },
  {
    block: "203.0.113.0/24",
    refused: ["203.0.113.0", "203.0.113.5", "203.0.113.255"],
    neighbours: ["203.0.112.255", "203.0.114.0"]
  },
  {
    block: "224.0.0.0/4 (multicast)",
    refused: ["224.0.0.0", "224.0.0.1", "239.255.255.255"],
    neighbours: ["223.255.255.255"]
  },
  { block: "240.0.0.0/4 and broadcast", refused: ["240.0.0.0", "250.1.2.3", "255.255.255.254", "255.255.255.255"] }
]

/**
 * The IANA IPv6 Special-Purpose Address Registry, embedded IPv4 addresses, and addresses that are not global unicast.
 */
export const ipv6: ReadonlyArray<Row> = [
  { block: "::/128 (unspecified)", refused: ["::", "0:0:0:0:0:0:0:0"] },
  { block: "::1/128 (loopback)", refused: ["::1", "0:0:0:0:0:0:0:1"] },
  { block: "::/96 (IPv4-compatible)", refused: ["::2", "::8.8.8.8", "::127.0.0.1", "::ffff:ffff"] },
  { block: "::ffff:0:0/96 (IPv4-mapped) of refused addresses", refused: ["::ffff:127.0.0.1", "::ffff:a9fe:a9fe"] },
  { block: "::ffff:0:0:0/96 (IPv4-translated)", refused: ["::ffff:0:8.8.8.8", "::ffff:0:7f00:1"] },
  {
    block: "64:ff9b::/96 (NAT64)",
    refused: ["64:ff9b::", "64:ff9b::8.8.8.8", "64:ff9b::7f00:1", "64:ff9b::ffff:ffff"]
  },
  { block: "64:ff9b:1::/48 (local NAT64)", refused: ["64:ff9b:1::", "64:ff9b:1::7f00:1", "64:ff9b:1:ffff:ffff::1"] },
  { block: "100::/64 (discard-only)", refused: ["100::", "100::1", "100::ffff:ffff:ffff:ffff"] },
  { block: "100:0:0:1::/64 (dummy)", refused: ["100:0:0:1::", "100:0:0:1::1"] },
  {
    block: "2001::/23 (protocol assignments)",
    refused: [
      "2001::",
      "2001:1::1",
      "2001:1::2",
      "2001:1::3",
      "2001:4:112::1",
      "2001:1ff:ffff:ffff:ffff:ffff:ffff:ffff"
    ],
    neighbours: ["2000:ffff:ffff:ffff:ffff:ffff:ffff:ffff", "2001:200::"]
  },
  { block: "2001::/32 (Teredo)", refused: ["2001::1", "2001:0:4136:e378:8000:63bf:3fff:fdd2", "2001:0:ffff::"] },
  { block: "2001:2::/48 (benchmarks)", refused: ["2001:2::", "2001:2:0:ffff::1"] },
  { block: "2001:3::/32 (AMT)", refused: ["2001:3::", "2001:3:ffff::1"] },
  { block: "2001:10::/28 (old ORCHID)", refused: ["2001:10::", "2001:1f:ffff::1"] },
  { block: "2001:20::/28 (ORCHIDv2)", refused: ["2001:20::", "2001:2f:ffff::1"] },
  { block: "2001:30::/28 (DRIP)", refused: ["2001:30::", "2001:3f:ffff::1"] },
  {
    block: "2001:db8::/32 (documentation)",
    refused: ["2001:db8::", "2001:db8::1", "2001:db8:ffff:ffff:ffff:ffff:ffff:ffff"],
    neighbours: ["2001:db7:ffff:ffff:ffff:ffff:ffff:ffff", "2001:db9::"]
  },
  {
    block: "2002::/16 (6to4)",
    refused: ["2002::", "2002:7f00:1::1", "2002:808:808::1", "2002:ffff:ffff:ffff:ffff:ffff:ffff:ffff"],
    neighbours: ["2001:ffff:ffff:ffff:ffff:ffff:ffff:ffff", "2003::"]
  },
  {
    block: "2620:4f:8000::/48 (AS112)",
    refused: ["2620:4f:8000::", "2620:4f:8000::1", "2620:4f:8000:ffff:ffff:ffff:ffff:ffff"],
    neighbours: ["2620:4f:7fff:ffff:ffff:ffff:ffff:ffff", "2620:4f:8001::"]
  },
  {
    block: "3fff::/20 (documentation)",
    refused: ["3fff::", "3fff:0abc::1", "3fff:fff:ffff:ffff:ffff:ffff:ffff:ffff"],
    neighbours: ["3ffe:ffff:ffff:ffff:ffff:ffff:ffff:ffff", "3fff:1000::"]
  },
  { block: "outside 2000::/3", refused: ["1fff:ffff:ffff:ffff:ffff:ffff:ffff:ffff", "4000::", "8000::1", "e000::1"] },
  { block: "5f00::/16 (SRv6)", refused: ["5f00::", "5f00::1", "5f00:ffff::1"] },
  { block: "fc00::/7 (unique local)", refused: ["fc00::", "fd00::1", "fd00:ec2::254", "fdff:ffff::1"] },
  { block: "fe80::/10 (link-local)", refused: ["fe80::", "fe80::1", "febf:ffff::1"] },
  { block: "fec0::/10 (site-local)", refused: ["fec0::", "fec0::1", "feff:ffff::1"] },
  { block: "ff00::/8 (multicast)", refused: ["ff00::", "ff02::1", "ff0e::1", "ffff:ffff::1"] }
]
