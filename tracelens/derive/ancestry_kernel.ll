; fcda83009a4376f962fdc70bc2af96f2f471df292e6c1bd052c6517da2400d74


define noundef range(i32 -1, -2) i32 @climb(ptr noalias writeonly captures(none) %retptr, ptr noalias readnone captures(none) %excinfo, i64 %arg.state) local_unnamed_addr {
B0:
  %.10 = inttoptr i64 %arg.state to ptr
  %.11 = load i64, ptr %.10, align 1
  %.11.fr = freeze i64 %.11
  %.17 = add nsw i64 %arg.state, 8
  %.18 = inttoptr i64 %.17 to ptr
  %.19 = load i64, ptr %.18, align 1
  %.25 = add nsw i64 %arg.state, 16
  %.26 = inttoptr i64 %.25 to ptr
  %.27 = load i64, ptr %.26, align 1
  %.30 = add nsw i64 %arg.state, 24
  %.31 = inttoptr i64 %.30 to ptr
  %.32 = load i64, ptr %.31, align 1
  %.41 = add nsw i64 %arg.state, 32
  %.42 = inttoptr i64 %.41 to ptr
  %.43 = load i64, ptr %.42, align 1
  %.46 = add nsw i64 %arg.state, 40
  %.47 = inttoptr i64 %.46 to ptr
  %.48 = load i64, ptr %.47, align 1
  %.56 = icmp sgt i64 %.11.fr, 4
  br i1 %.56, label %B340.endif, label %B1676.endif

B702:                                             ; preds = %B702.lr.ph, %B1668
  %last_end.2.0582 = phi i64 [ 0, %B702.lr.ph ], [ %last_end.3.1, %B1668 ]
  %last_start.2.0581 = phi i64 [ -9223372036854775808, %B702.lr.ph ], [ %last_start.3.1, %B1668 ]
  %place.4.0580 = phi i64 [ 0, %B702.lr.ph ], [ %place.5.1, %B1668 ]
  %n_lanes.2.0579 = phi i64 [ 0, %B702.lr.ph ], [ %n_lanes.3.1, %B1668 ]
  %.213570577 = phi i64 [ 0, %B702.lr.ph ], [ %.220, %B1668 ]
  %.220 = add nuw nsw i64 %.213570577, 1
  %.249 = shl nsw i64 %.213570577, 3
  %.251 = add nsw i64 %.249, %.27
  %.252 = inttoptr i64 %.251 to ptr
  %.253 = load i64, ptr %.252, align 1
  %.259.not = icmp slt i64 %.253, %.64
  br i1 %.259.not, label %B758, label %common.ret

B758:                                             ; preds = %B702
  %.262 = icmp slt i64 %.253, 0
  %.265 = icmp ne i64 %.253, %const56
  %or.cond = and i1 %.262, %.265
  br i1 %or.cond, label %common.ret, label %B798

common.ret:                                       ; preds = %B2600.us, %B2460.us, %B2134.endif, %B1886.endif, %B340.endif, %B2600, %B2128, %B1822, %B1760, %B1668, %B1254, %B1004, %B866, %B758, %B702
  %.sink = phi i64 [ 0, %B1886.endif ], [ 0, %B2134.endif ], [ 0, %B340.endif ], [ 0, %B2600 ], [ 1, %B1254 ], [ 0, %B2600.us ], [ 0, %B2460.us ], [ 0, %B2128 ], [ 0, %B1668 ], [ 1, %B1004 ], [ 1, %B758 ], [ 1, %B702 ], [ 1, %B866 ], [ 1, %B1822 ], [ 1, %B1760 ]
  store i64 %.sink, ptr %retptr, align 8
  ret i32 0

B798:                                             ; preds = %B758
  %0 = icmp eq i64 %.11.fr, 5
  br i1 %0, label %B820, label %B866

B820:                                             ; preds = %B798
  %sunkaddr = inttoptr i64 %.43 to ptr
  %sunkaddr57 = mul i64 %.213570577, 8
  %sunkaddr58 = getelementptr i8, ptr %sunkaddr, i64 %sunkaddr57
  %.337 = load i64, ptr %sunkaddr58, align 1
  br label %B1568

B866:                                             ; preds = %B798
  %sunkaddr59 = inttoptr i64 %.72 to ptr
  %sunkaddr60 = mul i64 %.213570577, 8
  %sunkaddr61 = getelementptr i8, ptr %sunkaddr59, i64 %sunkaddr60
  %.347 = load i64, ptr %sunkaddr61, align 1
  %sunkaddr62 = inttoptr i64 %.77 to ptr
  %sunkaddr63 = mul i64 %.213570577, 8
  %sunkaddr64 = getelementptr i8, ptr %sunkaddr62, i64 %sunkaddr63
  %.353 = load i64, ptr %sunkaddr64, align 1
  %sunkaddr65 = inttoptr i64 %.88 to ptr
  %sunkaddr66 = mul i64 %.213570577, 8
  %sunkaddr67 = getelementptr i8, ptr %sunkaddr65, i64 %sunkaddr66
  %.361 = load i64, ptr %sunkaddr67, align 1
  %.373 = icmp slt i64 %.347, %last_start.2.0581
  br i1 %.373, label %common.ret, label %B1004

B1004:                                            ; preds = %B866
  %.377 = icmp eq i64 %.347, %last_start.2.0581
  %.383 = icmp sgt i64 %.353, %last_end.2.0582
  %or.cond520 = select i1 %.377, i1 %.383, i1 false
  br i1 %or.cond520, label %common.ret, label %B1034

B1034:                                            ; preds = %B1004
  %.439.not = icmp slt i64 %place.4.0580, %n_lanes.2.0579
  br i1 %.439.not, label %B1054, label %B1104

B1054:                                            ; preds = %B1034
  %.446 = shl nsw i64 %place.4.0580, 4
  %.450 = add nsw i64 %.446, %.93
  %.451 = inttoptr i64 %.450 to ptr
  %.452 = load i64, ptr %.451, align 1
  %.454.not = icmp eq i64 %.452, %.361
  br i1 %.454.not, label %B1242, label %B1104

B1104:                                            ; preds = %B1054, %B1034
  %.466 = icmp sgt i64 %n_lanes.2.0579, 0
  br i1 %.466, label %B1120, label %B1242

B1120:                                            ; preds = %B1104
  %sunkaddr68 = inttoptr i64 %.93 to ptr
  %.482 = load i64, ptr %sunkaddr68, align 1
  %.484.not = icmp eq i64 %.482, %.361
  br i1 %.484.not, label %B1242, label %B1170.preheader

B1170.preheader:                                  ; preds = %B1120
  %1 = add nsw i64 %n_lanes.2.0579, -1
  br label %B1170

B1170:                                            ; preds = %B1192, %B1170.preheader
  %lsr.iv = phi i64 [ %5, %B1170.preheader ], [ %lsr.iv.next, %B1192 ]
  %place.7.3 = phi i64 [ %.490, %B1192 ], [ 0, %B1170.preheader ]
  %exitcond592.not = icmp eq i64 %1, %place.7.3
  br i1 %exitcond592.not, label %B1254, label %B1192

B1192:                                            ; preds = %B1170
  %.490 = add nuw nsw i64 %place.7.3, 1
  %.515 = inttoptr i64 %lsr.iv to ptr
  %.516 = load i64, ptr %.515, align 1
  %.518.not = icmp eq i64 %.516, %.361
  %lsr.iv.next = add i64 %lsr.iv, 16
  br i1 %.518.not, label %B1242, label %B1170

B1242:                                            ; preds = %B1192, %B1120, %B1104, %B1054
  %place.6.3 = phi i64 [ 0, %B1104 ], [ %place.4.0580, %B1054 ], [ 0, %B1120 ], [ %.490, %B1192 ]
  %.537 = icmp eq i64 %place.6.3, %n_lanes.2.0579
  br i1 %.537, label %B1254, label %B1242.B1376.endif.endif.endif_crit_edge

B1242.B1376.endif.endif.endif_crit_edge:          ; preds = %B1242
  %.pre12 = shl nsw i64 %place.6.3, 4
  br label %B1376.endif.endif.endif

B1254:                                            ; preds = %B1242, %B1170
  %.543 = icmp eq i64 %n_lanes.2.0579, %.106
  br i1 %.543, label %common.ret, label %B1272

B1272:                                            ; preds = %B1254
  %.586 = add nsw i64 %n_lanes.2.0579, 1
  %.592 = shl nsw i64 %n_lanes.2.0579, 4
  %.594 = add nsw i64 %.592, %.93
  %.596 = inttoptr i64 %.594 to ptr
  store i64 %.361, ptr %.596, align 1
  %.604 = add nsw i64 %.594, 8
  %.606 = inttoptr i64 %.604 to ptr
  store i64 %.347, ptr %.606, align 1
  br label %B1376.endif.endif.endif

B1568:                                            ; preds = %B1376.endif.endif.endif, %B820
  %n_lanes.3.1 = phi i64 [ %n_lanes.2.0579, %B820 ], [ %n_lanes.4.2, %B1376.endif.endif.endif ]
  %place.5.1 = phi i64 [ %place.4.0580, %B820 ], [ %place.6.3596, %B1376.endif.endif.endif ]
  %last_start.3.1 = phi i64 [ %last_start.2.0581, %B820 ], [ %.347, %B1376.endif.endif.endif ]
  %last_end.3.1 = phi i64 [ %last_end.2.0582, %B820 ], [ %.353, %B1376.endif.endif.endif ]
  %time.2.1 = phi i64 [ %.337, %B820 ], [ %.13.i6, %B1376.endif.endif.endif ]
  %.743 = icmp sgt i64 %.253, -1
  br i1 %.743, label %B1580, label %B1668

B1580:                                            ; preds = %B1568
  %.746 = shl nsw i64 %.253, 3
  %.748 = add nsw i64 %.746, %.48
  %.755 = inttoptr i64 %.748 to ptr
  %.756 = load i64, ptr %.755, align 1
  %.758 = add nsw i64 %.756, %time.2.1
  store i64 %.758, ptr %.755, align 1
  br label %B1668

B1668:                                            ; preds = %B1580, %B1568
  %exitcond593.not = icmp eq i64 %.220, %.19
  br i1 %exitcond593.not, label %common.ret, label %B702

B1758:                                            ; preds = %B1676.endif, %B1822
  %lsr.iv54 = phi i64 [ %math, %B1822 ], [ %..19527, %B1676.endif ]
  %lsr.iv52 = phi i64 [ %lsr.iv.next53, %B1822 ], [ %6, %B1676.endif ]
  %lsr.iv50 = phi i64 [ %lsr.iv.next51, %B1822 ], [ %.27, %B1676.endif ]
  %2 = call { i64, i1 } @llvm.usub.with.overflow.i64(i64 %lsr.iv54, i64 1)
  %math = extractvalue { i64, i1 } %2, 0
  %ov = extractvalue { i64, i1 } %2, 1
  br i1 %ov, label %B1864, label %B1760

B1760:                                            ; preds = %B1758
  %.954 = inttoptr i64 %lsr.iv50 to ptr
  %.955 = load i64, ptr %.954, align 1
  %lsr.iv.next51 = add i64 %lsr.iv50, 8
  %lsr.iv.next53 = add i64 %lsr.iv52, 1
  %.962.not = icmp slt i64 %.955, %lsr.iv.next53
  br i1 %.962.not, label %B1822, label %common.ret

B1822:                                            ; preds = %B1760
  %.965 = icmp slt i64 %.955, 0
  %.968 = icmp ne i64 %.955, %const
  %or.cond521 = and i1 %.965, %.968
  br i1 %or.cond521, label %common.ret, label %B1758

B1864:                                            ; preds = %B1758
  %.1000 = icmp eq i64 %.11.fr, 3
  br i1 %.1000, label %B1886.endif, label %B2134.endif

B1918:                                            ; preds = %B1918.lr.ph, %B2128
  %lsr.iv34 = phi i64 [ %.19, %B1918.lr.ph ], [ %lsr.iv.next35, %B2128 ]
  %lsr.iv32 = phi i64 [ %14, %B1918.lr.ph ], [ %lsr.iv.next33, %B2128 ]
  %lsr.iv30 = phi i64 [ %11, %B1918.lr.ph ], [ %lsr.iv.next31, %B2128 ]
  %.1140 = inttoptr i64 %lsr.iv32 to ptr
  %.1141 = load i64, ptr %.1140, align 1
  %.1146 = icmp sgt i64 %.1141, -1
  br i1 %.1146, label %B2002, label %B2128

B2002:                                            ; preds = %B1918
  %.1149 = shl nsw i64 %.1141, 3
  %.1151 = add nsw i64 %.1149, %.48
  %.1158 = inttoptr i64 %.1151 to ptr
  %.1159 = load i64, ptr %.1158, align 1
  %.1166 = inttoptr i64 %lsr.iv30 to ptr
  %.1167 = load i64, ptr %.1166, align 1
  %.1168 = add nsw i64 %.1167, %.1159
  store i64 %.1168, ptr %.1158, align 1
  br label %B2128

B2128:                                            ; preds = %B2002, %B1918
  %lsr.iv.next31 = add i64 %lsr.iv30, -8
  %lsr.iv.next33 = add i64 %lsr.iv32, -8
  %lsr.iv.next35 = add i64 %lsr.iv34, -1
  %exitcond591.not = icmp eq i64 %lsr.iv.next35, 0
  br i1 %exitcond591.not, label %common.ret, label %B1918

B2176:                                            ; preds = %B2176.preheader, %B2600
  %lsr.iv48 = phi i64 [ %.27, %B2176.preheader ], [ %lsr.iv.next49, %B2600 ]
  %lsr.iv46 = phi i64 [ %18, %B2176.preheader ], [ %lsr.iv.next47, %B2600 ]
  %lsr.iv44 = phi i64 [ %16, %B2176.preheader ], [ %lsr.iv.next45, %B2600 ]
  %.1283536538 = phi i64 [ %.1290, %B2600 ], [ %.829, %B2176.preheader ]
  %.1324 = inttoptr i64 %lsr.iv48 to ptr
  %.1325 = load i64, ptr %.1324, align 1
  %.1445 = icmp sgt i64 %.1325, -1
  br i1 %.1445, label %B2558, label %B2600

B2558:                                            ; preds = %B2176
  %.1448 = shl nsw i64 %.1325, 3
  %.1452 = add nsw i64 %.1448, %.48
  %.1453 = inttoptr i64 %.1452 to ptr
  %.1454 = load i64, ptr %.1453, align 1
  br label %B2600

B2600:                                            ; preds = %B2558, %B2176
  %above.5.2 = phi i64 [ %.1454, %B2558 ], [ %spec.select, %B2176 ]
  %3 = icmp eq i64 %.11.fr, 0
  %4 = add i64 %.32, %.1283536538
  %.1467 = inttoptr i64 %4 to ptr
  %.1468 = load i8, ptr %.1467, align 1
  %.1470.not = icmp eq i8 %.1468, 0
  %.1491 = icmp eq i64 %above.5.2, %const
  %or.cond522 = select i1 %3, i1 true, i1 %.1491
  %spec.select523 = select i1 %or.cond522, i64 %.1283536538, i64 %above.5.2
  %above.7.2 = select i1 %.1470.not, i64 %above.5.2, i64 %spec.select523
  %.1510 = inttoptr i64 %lsr.iv46 to ptr
  store i64 %above.7.2, ptr %.1510, align 1
  %lsr.iv.next45 = add i64 %lsr.iv44, -1
  %lsr.iv.next47 = add i64 %lsr.iv46, 8
  %lsr.iv.next49 = add i64 %lsr.iv48, 8
  %.1290 = add i64 %.1283536538, 1
  %.1277 = icmp sgt i64 %lsr.iv.next45, 1
  br i1 %.1277, label %B2176, label %common.ret

B340.endif:                                       ; preds = %B0
  %.62 = add nsw i64 %arg.state, 48
  %.63 = inttoptr i64 %.62 to ptr
  %.64 = load i64, ptr %.63, align 1
  %.70 = add nsw i64 %arg.state, 56
  %.71 = inttoptr i64 %.70 to ptr
  %.72 = load i64, ptr %.71, align 1
  %.75 = add nsw i64 %arg.state, 64
  %.76 = inttoptr i64 %.75 to ptr
  %.77 = load i64, ptr %.76, align 1
  %.86 = add nsw i64 %arg.state, 72
  %.87 = inttoptr i64 %.86 to ptr
  %.88 = load i64, ptr %.87, align 1
  %.91 = add nsw i64 %arg.state, 80
  %.92 = inttoptr i64 %.91 to ptr
  %.93 = load i64, ptr %.92, align 1
  %.102 = add nsw i64 %arg.state, 88
  %.105 = inttoptr i64 %.102 to ptr
  %.106 = load i64, ptr %.105, align 1
  %.207576.not = icmp slt i64 %.19, 1
  br i1 %.207576.not, label %common.ret, label %B702.lr.ph

B702.lr.ph:                                       ; preds = %B340.endif
  %const56 = bitcast i64 -4611686018427387904 to i64
  %5 = add i64 %.93, 16
  br label %B702

B1376.endif.endif.endif:                          ; preds = %B1272, %B1242.B1376.endif.endif.endif_crit_edge
  %.632.pre-phi = phi i64 [ %.pre12, %B1242.B1376.endif.endif.endif_crit_edge ], [ %.592, %B1272 ]
  %place.6.3596 = phi i64 [ %place.6.3, %B1242.B1376.endif.endif.endif_crit_edge ], [ %n_lanes.2.0579, %B1272 ]
  %n_lanes.4.2 = phi i64 [ %n_lanes.2.0579, %B1242.B1376.endif.endif.endif_crit_edge ], [ %.586, %B1272 ]
  %sunkaddr69 = inttoptr i64 %.93 to ptr
  %sunkaddr70 = getelementptr i8, ptr %sunkaddr69, i64 %.632.pre-phi
  %sunkaddr71 = getelementptr i8, ptr %sunkaddr70, i64 8
  %.637 = load i64, ptr %sunkaddr71, align 1
  %.13.i = tail call i64 @llvm.smax.i64(i64 %.637, i64 %.347)
  %.670 = sub nsw i64 %.353, %.13.i
  %.13.i6 = tail call i64 @llvm.smax.i64(i64 %.670, i64 0)
  %.13.i7 = tail call i64 @llvm.smax.i64(i64 %.637, i64 %.353)
  store i64 %.13.i7, ptr %sunkaddr71, align 1
  br label %B1568

B1676.endif:                                      ; preds = %B0
  %const = bitcast i64 -4611686018427387904 to i64
  %.825 = add nsw i64 %arg.state, 96
  %.828 = inttoptr i64 %.825 to ptr
  %.829 = load i64, ptr %.828, align 1
  %..19527 = tail call i64 @llvm.smax.i64(i64 %.19, i64 0)
  %6 = add i64 %.829, -1
  br label %B1758

B1886.endif:                                      ; preds = %B1864
  %7 = icmp sgt i64 %.19, 0
  br i1 %7, label %B1918.lr.ph, label %common.ret

B1918.lr.ph:                                      ; preds = %B1886.endif
  %8 = add i64 %.829, %.19
  %9 = shl i64 %8, 3
  %10 = add i64 %.48, %9
  %11 = add i64 %10, -8
  %12 = shl i64 %.19, 3
  %13 = add i64 %.27, %12
  %14 = add i64 %13, -8
  br label %B1918

B2134.endif:                                      ; preds = %B1864
  %.1277537.not = icmp slt i64 %.19, 1
  br i1 %.1277537.not, label %common.ret, label %B2176.lr.ph

B2176.lr.ph:                                      ; preds = %B2134.endif
  %.1330 = icmp eq i64 %.11.fr, 4
  %.1433 = icmp eq i64 %.11.fr, 2
  %spec.select = select i1 %.1433, i64 0, i64 %const
  br i1 %.1330, label %B2176.us.preheader, label %B2176.lr.ph.split

B2176.us.preheader:                               ; preds = %B2176.lr.ph
  br label %B2176.us

B2176.us:                                         ; preds = %B2460.us, %B2176.us.preheader
  %.1276535539.us = phi i64 [ %.1286.us, %B2460.us ], [ %..19527, %B2176.us.preheader ]
  %.1283536538.us = phi i64 [ %.1290.us, %B2460.us ], [ %.829, %B2176.us.preheader ]
  %.1286.us = add nsw i64 %.1276535539.us, -1
  %.1290.us = add i64 %.1283536538.us, 1
  %.1341.us = add nsw i64 %.1283536538.us, %.32
  %.1342.us = inttoptr i64 %.1341.us to ptr
  %.1343.us = load i8, ptr %.1342.us, align 1
  %.1345.not.us = icmp eq i8 %.1343.us, 0
  br i1 %.1345.not.us, label %B2176.us.B2460.us_crit_edge, label %B2296.us

B2176.us.B2460.us_crit_edge:                      ; preds = %B2176.us
  %.pre = shl nsw i64 %.1283536538.us, 3
  br label %B2460.us

B2296.us:                                         ; preds = %B2176.us
  %.1320.us = sub nsw i64 %.1283536538.us, %.829
  %.1321.us = shl nsw i64 %.1320.us, 3
  %.1323.us = add nsw i64 %.1321.us, %.27
  %.1324.us = inttoptr i64 %.1323.us to ptr
  %.1325.us = load i64, ptr %.1324.us, align 1
  %.1355.us = shl nsw i64 %.1283536538.us, 3
  %.1357.us = add nsw i64 %.1355.us, %.43
  %.1358.us = inttoptr i64 %.1357.us to ptr
  %.1359.us = load i64, ptr %.1358.us, align 1
  %.1364.us = icmp sgt i64 %.1325.us, -1
  br i1 %.1364.us, label %B2350.us.preheader, label %B2460.us

B2350.us.preheader:                               ; preds = %B2296.us
  br label %B2350.us

B2350.us:                                         ; preds = %B2406.us, %B2350.us.preheader
  %parent.4.2.us = phi i64 [ %.1399.us, %B2406.us ], [ %.1325.us, %B2350.us.preheader ]
  %.1374.us = shl nsw i64 %parent.4.2.us, 3
  %.1376.us = add nsw i64 %.1374.us, %.43
  %.1377.us = inttoptr i64 %.1376.us to ptr
  %.1378.us = load i64, ptr %.1377.us, align 1
  %.1380.us = icmp eq i64 %.1378.us, %.1359.us
  br i1 %.1380.us, label %B2460.us, label %B2406.us

B2406.us:                                         ; preds = %B2350.us
  %sunkaddr72 = inttoptr i64 %.27 to ptr
  %sunkaddr73 = mul i64 %parent.4.2.us, 8
  %sunkaddr74 = getelementptr i8, ptr %sunkaddr72, i64 %sunkaddr73
  %.1399.us = load i64, ptr %sunkaddr74, align 1
  %.1402.us = icmp sgt i64 %.1399.us, -1
  br i1 %.1402.us, label %B2350.us, label %B2460.us

B2460.us:                                         ; preds = %B2406.us, %B2350.us, %B2296.us, %B2176.us.B2460.us_crit_edge
  %.1418.us.pre-phi = phi i64 [ %.pre, %B2176.us.B2460.us_crit_edge ], [ %.1355.us, %B2296.us ], [ %.1355.us, %B2406.us ], [ %.1355.us, %B2350.us ]
  %found.2.1.us = phi i64 [ 0, %B2176.us.B2460.us_crit_edge ], [ 0, %B2296.us ], [ 0, %B2406.us ], [ 1, %B2350.us ]
  %.1422.us = add nsw i64 %.1418.us.pre-phi, %.48
  %.1424.us = inttoptr i64 %.1422.us to ptr
  store i64 %found.2.1.us, ptr %.1424.us, align 1
  %.1277.us = icmp sgt i64 %.1276535539.us, 1
  br i1 %.1277.us, label %B2176.us, label %common.ret

B2176.lr.ph.split:                                ; preds = %B2176.lr.ph
  %15 = icmp eq i64 %.11.fr, 2
  br i1 %15, label %B2176.us542.preheader, label %B2176.preheader

B2176.preheader:                                  ; preds = %B2176.lr.ph.split
  %16 = add nuw i64 %..19527, 1
  %17 = shl i64 %.829, 3
  %18 = add i64 %.48, %17
  br label %B2176

B2176.us542.preheader:                            ; preds = %B2176.lr.ph.split
  %19 = add nuw i64 %..19527, 1
  %20 = shl i64 %.829, 3
  %21 = add i64 %.48, %20
  %22 = add i64 %.829, %.32
  br label %B2176.us542

B2176.us542:                                      ; preds = %B2600.us, %B2176.us542.preheader
  %lsr.iv42 = phi i64 [ %.27, %B2176.us542.preheader ], [ %lsr.iv.next43, %B2600.us ]
  %lsr.iv40 = phi i64 [ %22, %B2176.us542.preheader ], [ %lsr.iv.next41, %B2600.us ]
  %lsr.iv38 = phi i64 [ %21, %B2176.us542.preheader ], [ %lsr.iv.next39, %B2600.us ]
  %lsr.iv36 = phi i64 [ %19, %B2176.us542.preheader ], [ %lsr.iv.next37, %B2600.us ]
  %.1324.us550 = inttoptr i64 %lsr.iv42 to ptr
  %.1325.us551 = load i64, ptr %.1324.us550, align 1
  %.1445.us = icmp sgt i64 %.1325.us551, -1
  br i1 %.1445.us, label %B2558.us, label %B2600.us

B2558.us:                                         ; preds = %B2176.us542
  %.1448.us = shl nsw i64 %.1325.us551, 3
  %.1452.us = add nsw i64 %.1448.us, %.48
  %.1453.us = inttoptr i64 %.1452.us to ptr
  %.1454.us = load i64, ptr %.1453.us, align 1
  br label %B2600.us

B2600.us:                                         ; preds = %B2558.us, %B2176.us542
  %above.5.2.us = phi i64 [ %.1454.us, %B2558.us ], [ %spec.select, %B2176.us542 ]
  %.1467.us = inttoptr i64 %lsr.iv40 to ptr
  %.1468.us = load i8, ptr %.1467.us, align 1
  %.1470.not.us = icmp ne i8 %.1468.us, 0
  %.1478.us = zext i1 %.1470.not.us to i64
  %spec.select585 = add nsw i64 %above.5.2.us, %.1478.us
  %.1510.us = inttoptr i64 %lsr.iv38 to ptr
  store i64 %spec.select585, ptr %.1510.us, align 1
  %lsr.iv.next37 = add i64 %lsr.iv36, -1
  %lsr.iv.next39 = add i64 %lsr.iv38, 8
  %lsr.iv.next41 = add i64 %lsr.iv40, 1
  %lsr.iv.next43 = add i64 %lsr.iv42, 8
  %.1277.us552 = icmp sgt i64 %lsr.iv.next37, 1
  br i1 %.1277.us552, label %B2176.us542, label %common.ret
}

declare i64 @llvm.smax.i64(i64, i64)

declare { i64, i1 } @llvm.usub.with.overflow.i64(i64, i64)

